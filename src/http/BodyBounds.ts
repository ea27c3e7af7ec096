import { Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import * as Failure from "../api/Failure.ts"
import { BoundedBody } from "../api/Middleware.ts"
import * as Refusal from "../api/Refusal.ts"
import { CurrentAccess } from "../domain/AccessEntry.ts"
import { type Deadline, makeDeadlines } from "../domain/Deadlines.ts"
import { InvalidRequest } from "../domain/Errors.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { type BodyText, readBodyText } from "./BodyText.ts"
import { isEncoded, respond, respondTo } from "./ErrorBoundary.ts"
import { UserBounds } from "./UserBounds.ts"

/** Levels of nested objects and lists. */
export const nestingMax = 64

const quote = 0x22
const backslash = 0x5c
const openers = new Set([0x5b, 0x7b])
const closers = new Set([0x5d, 0x7d])

/** Whether a JSON text nests deeper than `depthMax`, without parsing it. */
export const nestsDeeperThan = (json: string, depthMax: number): boolean => {
  let depth = 0
  let inString = false
  for (let i = 0; i < json.length; i++) {
    const unit = json.charCodeAt(i)
    if (inString) {
      if (unit === backslash) i++
      else if (unit === quote) inString = false
    } else if (unit === quote) {
      inString = true
    } else if (openers.has(unit)) {
      depth++
      if (depth > depthMax) return true
    } else if (closers.has(unit)) {
      depth--
    }
  }
  return false
}

const hasBody = ({ headers }: HttpServerRequest.HttpServerRequest): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0

const isJson = (contentType: string | undefined): boolean =>
  /^application\/json\s*(;|$)/i.test((contentType ?? "").trim())

/** A body is always read as UTF-8, which includes ASCII. */
const hasForeignCharset = (contentType: string | undefined): boolean => {
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(contentType ?? "")?.[1]
  return charset !== undefined && !/^(utf-?8|us-ascii)$/i.test(charset)
}

/** The most bytes that the body can have according to its headers. */
const announcedBytes = ({ headers }: HttpServerRequest.HttpServerRequest, bodyBytesMax: number): number => {
  const length = headers["content-length"]
  if (length !== undefined) return Math.min(Number(length), bodyBytesMax)
  return headers["transfer-encoding"] === undefined ? 0 : bodyBytesMax
}

/** Waits for room for the body. Requests of the operator are not limited. Returns a function that releases what is not needed. */
const reserveRoom = Effect.fnUntraced(function* (
  bounds: UserBounds["Service"],
  request: HttpServerRequest.HttpServerRequest,
  bodyBytesMax: number
) {
  const user = (yield* CurrentAccess)?.boundedBy ?? null
  if (user === null) return () => Effect.void
  const permits = yield* bounds.admitBody(user, announcedBytes(request, bodyBytesMax))
  // Only a body without an announced length can be shorter than its room.
  return (text: string) =>
    request.headers["content-length"] === undefined ? permits.reduce(Buffer.byteLength(text)) : Effect.void
})

/** A refusal by the headers alone, before any of the body has arrived. */
const announcedFailure = (request: HttpServerRequest.HttpServerRequest, bodyBytesMax: number) => {
  const contentType = request.headers["content-type"]
  if (isEncoded(request)) return Refusal.encodedBody
  if (hasBody(request) && !isJson(contentType)) return Refusal.notJson(contentType)
  if (hasForeignCharset(contentType)) return Refusal.foreignCharset
  return Number(request.headers["content-length"]) > bodyBytesMax ? Refusal.bodyTooLarge(bodyBytesMax) : null
}

/** Why there is no text. */
const failureOf = (problem: Exclude<BodyText, object>, bodyBytesMax: number) => {
  switch (problem) {
    case "too_large":
      return Refusal.bodyTooLarge(bodyBytesMax)
    case "late":
      return Failure.requestTimeout
    case "cut":
      return Failure.unreadableBody
  }
}

const checkBody = Effect.fnUntraced(function* (
  bounds: UserBounds["Service"],
  bodyBytesMax: number,
  deadline: Deadline
) {
  const request = yield* HttpServerRequest.HttpServerRequest
  const announced = announcedFailure(request, bodyBytesMax)
  if (announced !== null) return respond(announced)
  const releaseRest = yield* reserveRoom(bounds, request, bodyBytesMax)
  const body = yield* readBodyText(request, bodyBytesMax, deadline)
  if (typeof body === "string") return respond(failureOf(body, bodyBytesMax))
  yield* releaseRest(body.text)
  return nestsDeeperThan(body.text, nestingMax)
    ? respondTo(
        new InvalidRequest({ param: "", message: `The request body nests deeper than ${nestingMax} levels.` })
      )
    : null
})

/** Refuses bodies that are encoded, too large, too deep, too slow, cut off, or too much beside the user's other requests. */
export const BodyBoundsLayer = Layer.effect(
  BoundedBody,
  Effect.gen(function* () {
    const { bodyBytesMax, requestSeconds } = (yield* AppConfig).http
    const bounds = yield* UserBounds
    const deadline = yield* makeDeadlines(requestSeconds * 1000)
    return BoundedBody.of((httpEffect) =>
      checkBody(bounds, bodyBytesMax, deadline).pipe(
        Effect.catch((error) => Effect.succeed(respondTo(error))),
        Effect.flatMap((refusal) => (refusal === null ? httpEffect : Effect.succeed(refusal)))
      )
    )
  })
).pipe(Layer.provide(UserBounds.layer))
