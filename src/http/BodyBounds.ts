import { Effect, Layer } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import * as Failure from "../api/Failure.ts"
import { BoundedBody } from "../api/Middleware.ts"
import * as Refusal from "../api/Refusal.ts"
import { CurrentAccess } from "../domain/AccessEntry.ts"
import { InvalidRequest } from "../domain/Errors.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { bodyTooLargeAt, bytesMaxAt } from "./BodyLimit.ts"
import { type BodyText, readBodyText, withText } from "./BodyText.ts"
import { isEncoded, respond, respondTo } from "./ErrorBoundary.ts"
import type { Excess, JsonBounds } from "./JsonScanner.ts"
import { UserBounds } from "./UserBounds.ts"

/** Completes a sentence about the object or list, or about the body. */
const excessWords: { readonly [Bound in keyof JsonBounds]: (max: number) => string } = {
  nestingMax: (max) => `nests deeper than ${max} levels. Send what is deeper as text`,
  fieldsMax: (max) => `has more than ${max} fields. Send fewer, or a list`,
  entriesMax: (max) => `must be a list of at most ${max} entries`,
  valuesMax: (max) =>
    `is where the request body exceeds ${max} fields and entries. Send fewer in one request`,
  namesMax: (max) =>
    `is where the request body exceeds ${max} different names of fields. Send such names as values`,
  nameBytesMax: (max) => `has a field whose name is longer than ${max} bytes. Send long texts as values`
}

/** Why a JSON text can't be read. */
export const excessProblem = ({ bound, max, path }: Excess, whole = "The request body"): InvalidRequest =>
  new InvalidRequest({
    param: path,
    message: `${path === "" || bound === "nestingMax" ? whole : `\`${path}\``} ${excessWords[bound](max)}.`
  })

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

/**
 * Waits for room for the body. Requests of the operator are not limited. Returns a function that releases
 * what is not needed.
 */
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
const announcedFailure = (
  request: HttpServerRequest.HttpServerRequest,
  bodyBytesMax: number,
  tooLarge: Failure.Failure
) => {
  const contentType = request.headers["content-type"]
  if (isEncoded(request)) return Refusal.encodedBody
  if (hasBody(request) && !isJson(contentType)) return Refusal.notJson(contentType)
  if (hasForeignCharset(contentType)) return Refusal.foreignCharset
  return Number(request.headers["content-length"]) > bodyBytesMax ? tooLarge : null
}

/** Why there is no text. */
const failureOf = (problem: Extract<BodyText, string>, tooLarge: Failure.Failure) => {
  switch (problem) {
    case "too_large":
      return tooLarge
    case "not_utf8":
      return Failure.notUtf8
    case "late":
      return Failure.requestTimeout
    case "cut":
      return Failure.unreadableBody
  }
}

/** The request with its text, or why it is refused. */
const readWithin = Effect.fnUntraced(function* (
  bounds: UserBounds["Service"],
  http: AppConfig["Service"]["http"]
) {
  const request = yield* HttpServerRequest.HttpServerRequest
  const bodyBytesMax = bytesMaxAt(http, request.url)
  const tooLarge = bodyTooLargeAt(http, request.url)
  const announced = announcedFailure(request, bodyBytesMax, tooLarge)
  if (announced !== null) return respond(announced)
  if (!hasBody(request)) return request
  const releaseRest = yield* reserveRoom(bounds, request, bodyBytesMax)
  const body = yield* readBodyText(request, bodyBytesMax, http.requestSeconds)
  if (typeof body === "string") return respond(failureOf(body, tooLarge))
  if ("bound" in body) return respondTo(excessProblem(body))
  yield* releaseRest(body.text)
  return withText(request, body.text)
})

/**
 * Refuses bodies that are encoded, too large, too slow, cut off, beyond the bounds of JSON, or too much
 * beside the user's other requests.
 */
export const BodyBoundsLayer = Layer.effect(
  BoundedBody,
  Effect.gen(function* () {
    const { http } = yield* AppConfig
    const bounds = yield* UserBounds
    return BoundedBody.of((httpEffect) =>
      readWithin(bounds, http).pipe(
        Effect.catch((error) => Effect.succeed(respondTo(error))),
        Effect.flatMap((read) =>
          HttpServerResponse.isHttpServerResponse(read)
            ? Effect.succeed(read)
            : Effect.provideService(httpEffect, HttpServerRequest.HttpServerRequest, read)
        )
      )
    )
  })
).pipe(Layer.provide(UserBounds.layer))
