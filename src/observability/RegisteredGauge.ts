import { type Context, Metric } from "effect"

/** A gauge whose value is read when somebody asks for it. */
export const registerGauge = (
  metric: Metric.Gauge<number>,
  context: Context.Context<never>,
  read: () => number
): Metric.Registration =>
  Metric.registerUnsafe(metric, context, {
    get: () => ({ value: read() }),
    update: () => {},
    modify: () => {}
  })
