import { Duration, Effect, Predicate, Schedule, Semaphore, Stream } from "effect"
import { HttpClient, HttpClientError, type HttpClientRequest, HttpClientResponse } from "effect/http"

/** A collector that takes longer than this for one delivery counts as away. */
const deliverySeconds = 5

/** Bytes of an answer that are waited for; nothing in them is of use here. */
const answerBytesMax = 65_536

/** A delivery that failed is tried once more after so long. */
const retrySeconds = 1
const retriesMax = 1

/** Deliveries of one signal under way at once; while there are as many, what comes is thrown away. */
const deliveriesMax = 4

/** What became of a delivery that failed, without the address and what was in it. */
const reasonOf = (error: unknown): string => {
  if (!HttpClientError.isHttpClientError(error)) return `no answer within ${deliverySeconds} seconds`
  const { reason } = error
  if (reason._tag === "StatusCodeError") return `HTTP ${reason.response.status}`
  const cause = Predicate.hasProperty(reason, "cause") ? reason.cause : undefined
  const inner = Predicate.hasProperty(cause, "cause") ? cause.cause : cause
  return Predicate.hasProperty(inner, "code") ? String(inner.code) : reason._tag
}

/**
 * The same answer without its body, which has been read as far as is needed for the connection to be used again. The
 * exporters would read it to its end, however long that takes and however much it is.
 */
const withoutBody = (request: HttpClientRequest.HttpClientRequest) =>
  Effect.fnUntraced(function* (answer: HttpClientResponse.HttpClientResponse) {
    let bytes = 0
    yield* answer.stream.pipe(
      Stream.takeWhile((piece) => (bytes += piece.length) <= answerBytesMax),
      Stream.runDrain,
      // That there is none is as good.
      Effect.ignore
    )
    const { headers, status } = answer
    return HttpClientResponse.fromWeb(request, new Response(null, { status, headers }))
  })

const signalOf = (url: string): string => url.slice(url.lastIndexOf("/") + 1)

/**
 * The client that exporters deliver with. Each delivery is bounded in time and number, and an outage is logged when it
 * begins and when it ends. A delivery that fails in the end dies: the exporters would try a failure again for as long as
 * the collector asks them to, and keep what comes meanwhile; told of a defect they throw it away, and pause for a minute.
 */
export const makeCollectorClient = Effect.gen(function* () {
  const client = yield* HttpClient.HttpClient
  const turns = new Map<string, Semaphore.Semaphore>()
  const away = new Set<string>()

  const turnsOf = (signal: string): Semaphore.Semaphore => {
    const known = turns.get(signal)
    if (known !== undefined) return known
    const made = Semaphore.makeUnsafe(deliveriesMax)
    turns.set(signal, made)
    return made
  }

  const failed = (signal: string, reason: string) =>
    Effect.suspend(() => {
      const isNews = away.size === 0
      away.add(signal)
      if (!isNews) return Effect.void
      return Effect.logWarning("The collector takes no telemetry; what it misses is lost.").pipe(
        Effect.annotateLogs({ signal, reason })
      )
    })

  const delivered = (signal: string) =>
    Effect.suspend(() =>
      away.delete(signal) && away.size === 0
        ? Effect.logInfo("The collector takes telemetry again.")
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
          Effect.die(new Error("The collector takes no telemetry."))
        )
      ),
      turnsOf(signal).withPermitsIfAvailable(1),
      Effect.flatMap((answer) =>
        answer._tag === "Some"
          ? Effect.succeed(answer.value)
          : Effect.andThen(failed(signal, "too slow"), Effect.die(new Error("The collector is too slow.")))
      )
    )
  })
})
