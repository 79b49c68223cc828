package main

import (
	"context"

	"github.com/ahphub/ahphub/handlers/pages/nodes"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/cluster/manage"
	"github.com/ahphub/ahphub/hub/notify"
	"github.com/ahphub/ahphub/web"
)

// clusterStatus returns the function that reads the cluster's latest status; nil if this server is
// not a node.
func (a *app) clusterStatus() nodes.Status {
	if a.led == nil || a.led.nodes == nil {
		return nil
	}
	return a.led.nodes.Latest
}

// watchNodes watches the nodes and notifies the owner of nodes that are down, until ctx is
// canceled.
func (n *node) watchNodes(ctx context.Context, a *app) {
	n.admin.Watch(ctx, manage.WatchConfig{Docs: a.docs, Notify: func(absence manage.Absence) error {
		log := n.log.With("node", absence.Node)
		if absence.Back {
			log.Info("a node of the cluster is back")
		} else {
			log.Warn("a node of the cluster is down", "since", absence.Since)
		}
		return a.hub.Do(func(tx *hub.Tx) {
			a.notify.NodeAway(tx, notify.NodeAbsence{Name: absence.Node, Since: absence.Since, Back: absence.Back,
				Tolerates: absence.Tolerates})
		})
	}})
}

// meterCluster returns the metrics of the cluster.
func (a *app) meterCluster() []web.Metric {
	status := a.clusterStatus()
	if status == nil {
		return nil
	}
	each := func(read func(manage.NodeStatus) (value float64, known bool)) func(func(float64, ...string)) {
		return func(add func(float64, ...string)) {
			s, _ := status()
			for _, n := range s.Nodes {
				if v, known := read(n); known {
					add(v, n.ID)
				}
			}
		}
	}
	count := func(is bool) float64 {
		if is {
			return 1
		}
		return 0
	}
	labels := []string{"node"}
	return []web.Metric{
		{Name: "ahphub_cluster_node_up", Help: "1 while the node answers the leader.", Labels: labels,
			Each: each(func(n manage.NodeStatus) (float64, bool) { return count(n.Error == ""), true })},
		{Name: "ahphub_cluster_node_leads", Help: "1 for the leader.", Labels: labels,
			Each: each(func(n manage.NodeStatus) (float64, bool) { return count(n.Leads), true })},
		{Name: "ahphub_cluster_node_votes", Help: "1 while the node is a voter.", Labels: labels,
			Each: each(func(n manage.NodeStatus) (float64, bool) { return count(n.Votes), true })},
		{Name: "ahphub_cluster_node_behind_entries", Labels: labels,
			Help: "Entries of the leader's log that the node has not applied.",
			Each: each(func(n manage.NodeStatus) (float64, bool) { return float64(n.Behind), n.Error == "" })},
		{Name: "ahphub_cluster_node_certificate_expiry_timestamp_seconds", Labels: labels,
			Help: "When the node's certificate expires.",
			Each: each(func(n manage.NodeStatus) (float64, bool) { return float64(n.Expires.Unix()), n.Error == "" })},
		{Name: "ahphub_cluster_tolerated_failures",
			Help:   "How many more nodes may fail before nothing can be read or written.",
			Labels: []string{}, Each: func(add func(float64, ...string)) {
				if s, ok := status(); ok {
					add(float64(s.Tolerates))
				}
			}},
	}
}
