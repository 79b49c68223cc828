package store

import (
	"context"
	"database/sql"
)

// pool implements querier with a pool of connections.
type pool struct{ *sql.DB }

func (p pool) queryStrings(ctx context.Context, q string) ([]string, error) {
	rows, err := p.QueryContext(ctx, q)
	return scanStrings(rows, err)
}

func (c *conn) queryStrings(ctx context.Context, q string) ([]string, error) {
	rows, err := c.QueryContext(ctx, q)
	return scanStrings(rows, err)
}

func scanStrings(rows *sql.Rows, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	var out []string
	err = scan(rows, func() error {
		var s string
		err := rows.Scan(&s)
		out = append(out, s)
		return err
	})
	return out, err
}

// scan calls each for every row and closes the rows.
func scan(rows *sql.Rows, each func() error) error {
	defer rows.Close()
	for rows.Next() {
		if err := each(); err != nil {
			return err
		}
	}
	return rows.Err()
}
