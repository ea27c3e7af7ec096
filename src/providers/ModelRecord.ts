import type { ModelHealth } from "../domain/Model.ts"
import { LearnedParts } from "./LearnedParts.ts"

/** Seconds after which an outcome counts for half. */
const failureHalfLifeSeconds = 60

/** The half-life of the time to the first output, which changes less than failures. */
const latencyHalfLifeSeconds = 120

/** The average covers about this many of the latest requests. */
const latencySamplesMax = 20

/**
 * The share of failures covers about this many of the latest requests, so that a burst fades as fast as a few
 * failures.
 */
const outcomesMax = 20

/** Below this weight of samples the latency is unknown. */
const latencySamplesMin = 0.02

/** Assumed successes, so that a single failure weighs little, and fades. */
const assumedAnswers = 1

/**
 * Above this share of failures a model gets one request at a time, so that a hanging model delays no others.
 */
const trialShare = 0.2

/** The longest cooldown that a server can ask for. */
const limitedSecondsMax = 60

/** The outcomes of one model's requests, fading with time. Times are monotonic, in seconds. */
export class ModelRecord {
  private answers = 0
  private failures = 0
  private outcomesSeconds = 0
  private samples = 0
  private waitedSeconds = 0
  private samplesSeconds = 0
  private limitedUntil = 0
  private awaited = 0
  readonly learned = new LearnedParts()

  /** Records that the first output came this many seconds after the request. */
  began(seconds: number, now: number): void {
    const faded = fading(now - this.samplesSeconds, latencyHalfLifeSeconds)
    const kept = Math.min(this.samples * faded, latencySamplesMax - 1)
    const average = this.samples === 0 ? 0 : this.waitedSeconds / this.samples
    this.samples = kept + 1
    this.waitedSeconds = kept * average + seconds
    this.samplesSeconds = now
  }

  answered(now: number): void {
    this.fade(now)
    this.answers++
  }

  failed(now: number): void {
    this.fade(now)
    this.failures++
  }

  /** The server limited the rate, and asked for this wait. */
  limited(seconds: number, now: number): void {
    this.limitedUntil = Math.max(this.limitedUntil, now + Math.min(seconds, limitedSecondsMax))
  }

  /** Records that a request waits for its first output, until `settled`. */
  asked(): void {
    this.awaited++
  }

  settled(): void {
    this.awaited--
  }

  /**
   * True if other models are preferred: the model is rate limited, or it failed often and a request is
   * already trying it.
   */
  isCoolingDown(now: number): boolean {
    return now < this.limitedUntil || (this.awaited > 0 && this.seen(now).failureShare > trialShare)
  }

  seen(now: number): Omit<ModelHealth, "coolingDown"> {
    const faded = fading(now - this.outcomesSeconds, failureHalfLifeSeconds)
    const known = this.samples * fading(now - this.samplesSeconds, latencyHalfLifeSeconds)
    return {
      firstOutputSeconds: known < latencySamplesMin ? null : this.waitedSeconds / this.samples,
      failureShare: (this.failures * faded) / ((this.failures + this.answers) * faded + assumedAnswers),
      requests: (this.failures + this.answers) * faded,
      failures: this.failures * faded,
      learned: this.learned.shown(now)
    }
  }

  /** Makes room for one more outcome. */
  private fade(now: number): void {
    const outcomes = this.answers + this.failures
    const faded = Math.min(
      fading(now - this.outcomesSeconds, failureHalfLifeSeconds),
      (outcomesMax - 1) / Math.max(outcomesMax - 1, outcomes)
    )
    this.answers *= faded
    this.failures *= faded
    this.outcomesSeconds = now
  }
}

const fading = (seconds: number, halfLifeSeconds: number): number => 2 ** (-seconds / halfLifeSeconds)
