import type { ModelHealth } from "../domain/Model.ts"

/** After this time what was seen of failures counts for half. */
const failureHalfLifeSeconds = 60

/** The same for the time to the first output, which changes less. */
const latencyHalfLifeSeconds = 120

/** The average goes over about so many of the last first outputs. */
const latencySamplesMax = 20

/** The share of failures goes over about so many of the last requests, so that a burst is forgotten as fast as a few. */
const outcomesMax = 20

/** With less left than this of one sample, nothing is known any more. */
const latencySamplesMin = 0.02

/** So many answers that never happened soften the share of failures: a single failure says little, and even that fades. */
const assumedAnswers = 1

/** Above this share of failures one request at a time tries a model, so that one that hangs keeps no others waiting. */
const trialShare = 0.2

/** However long a server wants to be left alone, after this it is asked again. */
const limitedSecondsMax = 60

/** What requests have shown of one model. Old news fades; times are monotonic, in seconds. */
export class ModelRecord {
  private answers = 0
  private failures = 0
  private outcomesSeconds = 0
  private samples = 0
  private waitedSeconds = 0
  private samplesSeconds = 0
  private limitedUntil = 0
  private awaited = 0

  /** The first output came, so long after the request. */
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

  /** The server wants to be asked for it again only so much later. */
  limited(seconds: number, now: number): void {
    this.limitedUntil = Math.max(this.limitedUntil, now + Math.min(seconds, limitedSecondsMax))
  }

  /** A request waits for the first output, until it is settled what became of that. */
  asked(): void {
    this.awaited++
  }

  settled(): void {
    this.awaited--
  }

  /** Whether others should be asked first: it is limited, or it failed a good deal and one request is trying it. */
  isToBeSpared(now: number): boolean {
    return now < this.limitedUntil || (this.awaited > 0 && this.seen(now).failureShare > trialShare)
  }

  seen(now: number): Omit<ModelHealth, "coolingDown"> {
    const faded = fading(now - this.outcomesSeconds, failureHalfLifeSeconds)
    const known = this.samples * fading(now - this.samplesSeconds, latencyHalfLifeSeconds)
    return {
      firstOutputSeconds: known < latencySamplesMin ? null : this.waitedSeconds / this.samples,
      failureShare: (this.failures * faded) / ((this.failures + this.answers) * faded + assumedAnswers),
      requests: (this.failures + this.answers) * faded,
      failures: this.failures * faded
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
