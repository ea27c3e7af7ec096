import { Duration, Effect, Predicate, Schedule, Semaphore, Stream } from "effect"
import { HttpClient, HttpClientError, type HttpClientRequest, HttpClientResponse } from "effect/http"

/** Timeout of one delivery. */
const deliverySeconds = 5

/** Most bytes that are read of an answer, which contains nothing useful. */
const answerBytesMax = 65_536

/** A failed delivery is retried once after this time. */
const retrySeconds = 1
const retriesMax = 1

/** Most concurrent deliveries of one signal; further ones are dropped. */
const deliveriesMax = 4

/** Why a delivery failed, without its address and its content. */
const reasonOf = (error: unknown): string => {
  if (!HttpClientError.isHttpClientError(error)) return `no answer within ${deliverySeconds} seconds`
  const { reason } = error
  if (reason._tag === "StatusCodeError") return `HTTP ${reason.response.status}`
  const cause = Predicate.hasProperty(reason, "cause") ? reason.cause : undefined
  const inner = Predicate.hasProperty(cause, "cause") ? cause.cause : cause
  return Predicate.hasProperty(inner, "code") ? String(inner.code) : reason._tag
}

/**
 * The same answer without its body, which was read so that the connection can be reused. The exporters would
 * read all of it, without a limit of time or size.
 */
const withoutBody = (request: HttpClientRequest.HttpClientRequest) =>
  Effect.fnUntraced(function* (answer: HttpClientResponse.HttpClientResponse) {
    let bytes = 0
    yield* answer.stream.pipe(
      Stream.takeWhile((piece) => (bytes += piece.length) <= answerBytesMax),
      Stream.runDrain,
      // A missing body is fine.
      Effect.ignore
    )
    const { headers, status } = answer
    return HttpClientResponse.fromWeb(request, new Response(null, { status, headers }))
  })

const signalOf = (url: string): string => url.slice(url.lastIndexOf("/") + 1)

/**
 * The HTTP client of the exporters. It limits the time and the number of deliveries, and logs when an outage
 * begins and ends. A delivery whose retries fail ends in a defect: after a failure the exporters would retry
 * for as long as the collector asks, and buffer new data meanwhile; after a defect they drop it, and pause
 * for a minute.
 */
export const makeCollectorClient = Effect.gen(function* () {
  const client = yield* HttpClient.HttpClient
  const permits = new Map<string, Semaphore.Semaphore>()
  /** Signals whose last delivery failed. */
  const failing = new Set<string>()

  const permitsOf = (signal: string): Semaphore.Semaphore => {
    const semaphore = permits.get(signal) ?? Semaphore.makeUnsafe(deliveriesMax)
    permits.set(signal, semaphore)
    return semaphore
  }

  const failed = (signal: string, reason: string) =>
    Effect.suspend(() => {
      const isFirst = failing.size === 0
      failing.add(signal)
      if (!isFirst) return Effect.void
      return Effect.logWarning(
        "Telemetry can't be delivered to the collector; what is not delivered is lost."
      ).pipe(Effect.annotateLogs({ signal, reason }))
    })

  const delivered = (signal: string) =>
    Effect.suspend(() =>
      failing.delete(signal) && failing.size === 0
        ? Effect.logInfo("Telemetry is delivered to the collector again.")
        : Effect.void
    )

  return HttpClient.transform(client, (delivery, request) => {
    const signal = signalOf(request.url)
    return delivery.pipe(
      Effect.flatMap(withoutBody(request)),
      Effect.flatMap(HttpClientResponse.filterStatusOk),
      Effect.timeout(Duration.seconds(deliverySeconds)),
      Effect.retry(
        Schedule.spaced(Duration.seconds(retrySeconds)).pipe(Schedule.upTo({ times: retriesMax }))
      ),
      Effect.tap(() => delivered(signal)),
      Effect.catch((error) =>
        Effect.andThen(
          failed(signal, reasonOf(error)),
          Effect.die(new Error("Telemetry can't be delivered to the collector."))
        )
      ),
      permitsOf(signal).withPermitsIfAvailable(1),
      Effect.flatMap((answer) =>
        answer._tag === "Some"
          ? Effect.succeed(answer.value)
          : Effect.andThen(failed(signal, "too slow"), Effect.die(new Error("The collector is too slow.")))
      )
    )
  })
})
