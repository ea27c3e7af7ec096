import { Effect, Schema, Stream } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { ClientAddress } from "../auth/ClientAddress.ts"
import { streamProbePath } from "./Routes.ts"

/**
 * The pause between the two parts of the stream. A proxy that holds events back passes them on without it.
 */
export const probeGapSeconds = 2

/**
 * The content of each of the two events: the way of the request to this service. It names no address, because
 * anybody may ask.
 */
export const StreamPart = Schema.Struct({
  part: Schema.Int,
  /** True if X-Forwarded-For came with the request. */
  forwarded: Schema.Boolean,
  /** True if the request came from a proxy of PARLEY_TRUSTED_PROXIES. */
  trusted: Schema.Boolean
})

const encode = Schema.encodeSync(Schema.fromJsonString(StreamPart))

const utf8 = new TextEncoder()

/**
 * Two events with a pause between them, for `parley doctor`: it reads them through the address that people
 * use, to find out what a reverse proxy does to streams and whether it says who its clients are.
 */
export const StreamProbe = HttpRouter.use((router) =>
  Effect.gen(function* () {
    const clients = yield* ClientAddress
    const handle = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const forwarded = request.headers["x-forwarded-for"] !== undefined
      const trusted = clients.isProxy(request)
      const event = (part: number) =>
        utf8.encode(`event: probe\ndata: ${encode({ part, forwarded, trusted })}\n\n`)
      const second = Stream.fromEffect(Effect.as(Effect.sleep(`${probeGapSeconds} seconds`), event(2)))
      return HttpServerResponse.stream(Stream.concat(Stream.make(event(1)), second), {
        contentType: "text/event-stream",
        // Every stream of the service has these headers.
        headers: { "cache-control": "no-cache", "x-accel-buffering": "no" }
      })
    })
    yield* router.add("GET", streamProbePath, handle)
  })
)
