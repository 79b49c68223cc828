package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

type otlpMetric struct {
	Name        string       `json:"name"`
	Description string       `json:"description,omitempty"`
	Unit        string       `json:"unit,omitempty"`
	Gauge       *otlpPoints  `json:"gauge,omitempty"`
	Sum         *otlpPoints  `json:"sum,omitempty"`
	Histogram   *otlpPoints  `json:"histogram,omitempty"`
	Summary     *otlpSummary `json:"summary,omitempty"`
}

// cumulative is OTLP's number for values since the start, as all are here.
const cumulative = 2

type otlpPoints struct {
	Points      []otlpPoint `json:"dataPoints"`
	Temporality int         `json:"aggregationTemporality,omitempty"`
	Monotonic   bool        `json:"isMonotonic,omitempty"`
}

type otlpPoint struct {
	Attributes []otlpAttribute `json:"attributes"`
	Start      string          `json:"startTimeUnixNano"`
	Time       string          `json:"timeUnixNano"`
	Double     *float          `json:"asDouble,omitempty"`

	Count  string   `json:"count,omitempty"` // of a histogram
	Sum    *float   `json:"sum,omitempty"`
	Counts []string `json:"bucketCounts,omitempty"`
	Bounds []float  `json:"explicitBounds,omitempty"`
}

type otlpSummary struct {
	Points []otlpSummaryPoint `json:"dataPoints"`
}

type otlpSummaryPoint struct {
	Attributes []otlpAttribute `json:"attributes"`
	Start      string          `json:"startTimeUnixNano"`
	Time       string          `json:"timeUnixNano"`
	Count      string          `json:"count"`
	Sum        float           `json:"sum"`
	Values     []otlpQuantile  `json:"quantileValues"`
}

type otlpQuantile struct {
	Quantile float `json:"quantile"`
	Value    float `json:"value"`
}

type scopeMetrics struct {
	Scope   otlpScope    `json:"scope"`
	Metrics []otlpMetric `json:"metrics"`
}

type resourceMetrics struct {
	Resource otlpResource   `json:"resource"`
	Scopes   []scopeMetrics `json:"scopeMetrics"`
}

type metricsData struct {
	Resources []resourceMetrics `json:"resourceMetrics"`
}

// sendMetrics reads all metrics and sends them to their followers.
func (t *Telemetry) sendMetrics(ctx context.Context) {
	followers := t.follow.of(metrics)
	if len(followers) == 0 {
		return
	}
	var read metricdata.ResourceMetrics
	if err := t.reader.Collect(ctx, &read); err != nil {
		t.dropped.WithLabelValues("metrics").Inc()
		return
	}
	payload := t.metricsPayload(read.ScopeMetrics)
	for _, to := range followers {
		t.send(to, metrics, payload)
	}
}

func (t *Telemetry) metricsPayload(read []metricdata.ScopeMetrics) []byte {
	out := resourceMetrics{Resource: t.resource(), Scopes: []scopeMetrics{}}
	for _, s := range read {
		scope := scopeMetrics{Scope: scopeOf(s.Scope), Metrics: []otlpMetric{}}
		for _, m := range s.Metrics {
			scope.Metrics = append(scope.Metrics, t.metric(m))
		}
		out.Scopes = append(out.Scopes, scope)
	}
	return encode(metricsData{[]resourceMetrics{out}})
}

// metric converts the metrics of a Prometheus registry.
func (t *Telemetry) metric(m metricdata.Metrics) otlpMetric {
	out := otlpMetric{Name: m.Name, Description: m.Description, Unit: m.Unit}
	switch d := m.Data.(type) {
	case metricdata.Gauge[float64]:
		out.Gauge = &otlpPoints{Points: t.points(d.DataPoints)}
	case metricdata.Sum[float64]:
		out.Sum = &otlpPoints{t.points(d.DataPoints), cumulative, d.IsMonotonic}
	case metricdata.Histogram[float64]:
		out.Histogram = &otlpPoints{Points: t.histogram(d.DataPoints), Temporality: cumulative}
	case metricdata.Summary:
		out.Summary = &otlpSummary{t.summary(d.DataPoints)}
	}
	return out
}

func (t *Telemetry) set(s attribute.Set) []otlpAttribute { return t.attributes(s.ToSlice()) }

func (t *Telemetry) points(list []metricdata.DataPoint[float64]) []otlpPoint {
	out := []otlpPoint{}
	for _, p := range list {
		v := float(p.Value)
		out = append(out, otlpPoint{Attributes: t.set(p.Attributes), Start: nanos(p.StartTime), Time: nanos(p.Time),
			Double: &v})
	}
	return out
}

func (t *Telemetry) histogram(list []metricdata.HistogramDataPoint[float64]) []otlpPoint {
	out := []otlpPoint{}
	for _, p := range list {
		sum := float(p.Sum)
		point := otlpPoint{Attributes: t.set(p.Attributes), Start: nanos(p.StartTime), Time: nanos(p.Time),
			Count: number(int64(p.Count)), Sum: &sum}
		for _, n := range p.BucketCounts {
			point.Counts = append(point.Counts, number(int64(n)))
		}
		for _, b := range p.Bounds {
			point.Bounds = append(point.Bounds, float(b))
		}
		out = append(out, point)
	}
	return out
}

func (t *Telemetry) summary(list []metricdata.SummaryDataPoint) []otlpSummaryPoint {
	out := []otlpSummaryPoint{}
	for _, p := range list {
		point := otlpSummaryPoint{Attributes: t.set(p.Attributes), Start: nanos(p.StartTime), Time: nanos(p.Time),
			Count: number(int64(p.Count)), Sum: float(p.Sum), Values: []otlpQuantile{}}
		for _, q := range p.QuantileValues {
			point.Values = append(point.Values, otlpQuantile{float(q.Quantile), float(q.Value)})
		}
		out = append(out, point)
	}
	return out
}
