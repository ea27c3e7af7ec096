/** What a collector of OpenTelemetry can be sent. */
export const otlpSignals = ["traces", "logs", "metrics"] as const
export type OtlpSignal = (typeof otlpSignals)[number]
