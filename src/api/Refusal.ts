import { type Failure, failure } from "./Failure.ts"

// These requests are refused before an endpoint handles them. None of this is a domain error; Failure has
// those.

const refusal = (
  status: number,
  code: string,
  message: string,
  headers: Readonly<Record<string, string>> = {}
): Failure => failure(status, "invalid_request_error", code, message, { headers })

/** The received bytes are no HTTP request. */
export const malformedRequest = refusal(400, "malformed_request", "The request is not valid HTTP.")

export const hostMissing = refusal(
  400,
  "malformed_request",
  "The request has no `Host` header. Send one with the host of the URL."
)

export const hostInvalid = refusal(
  400,
  "malformed_request",
  "The `Host` header must be a host, with or without a port, such as `example.com:3000`."
)

export const headerRepeated = (name: string): Failure =>
  refusal(400, "malformed_request", `The request has more than one \`${name}\` header. Send one.`)

export const transferCoding = refusal(
  400,
  "malformed_request",
  "The only `Transfer-Encoding` that is supported is `chunked`. Send the body without compression."
)

export const headersTooLarge = (bytesMax: number): Failure =>
  refusal(431, "headers_too_large", `The headers are longer than ${bytesMax} bytes together.`)

export const chunkExtensionsTooLarge = refusal(
  413,
  "chunk_extensions_too_large",
  "The body's chunks carry extensions that are too long."
)

export const expectationFailed = refusal(
  417,
  "expectation_failed",
  "The only expectation that can be met is `100-continue`."
)

/**
 * `filesPath` is where the client can upload what made its body too large; null where nothing can be
 * uploaded.
 */
export const bodyTooLarge = (bytesMax: number, filesPath: string | null): Failure =>
  refusal(
    413,
    "body_too_large",
    `The body is larger than ${bytesMax} bytes.` +
      (filesPath === null ? "" : ` Upload large files with POST ${filesPath}, and send their ids.`),
    { connection: "close" }
  )

export const preconditionFailed = refusal(
  412,
  "precondition_failed",
  "The file isn't the one that `If-Match` or `If-Unmodified-Since` names. Leave the header out to get it as it is."
)

export const rangeNotSatisfiable = (bytes: number): Failure =>
  refusal(416, "range_not_satisfiable", `The file has ${bytes} bytes, and none of them is in the range.`, {
    "content-range": `bytes */${bytes}`,
    "accept-ranges": "bytes"
  })

export const codingNotAcceptable = refusal(
  406,
  "encoding_not_acceptable",
  "`Accept-Encoding` rules out every coding that the file is kept in. `identity` is always one of them."
)

const unsupportedMediaType = (message: string): Failure => refusal(415, "unsupported_media_type", message)

export const encodedBody = unsupportedMediaType("A body with a content encoding is not supported.")

export const notMultipart = unsupportedMediaType("The body must be `multipart/form-data`.")

/** A JSON body with another content type, or with none. */
export const notJson = (contentType: string | undefined): Failure => {
  const must = "The body must be JSON, with the header `Content-Type: application/json`"
  if (contentType === undefined) return unsupportedMediaType(`${must}; it has no Content-Type.`)
  return unsupportedMediaType(
    /^application\/x-www-form-urlencoded/i.test(contentType)
      ? `${must}. curl sends form data unless it is given \`-H 'Content-Type: application/json'\`.`
      : `${must}.`
  )
}

export const foreignCharset = unsupportedMediaType(
  "A JSON body must be UTF-8; no other charset is supported."
)

/** The port opens before the routes exist. */
export const starting = failure(
  503,
  "server_error",
  "server_starting",
  "The service is starting. Try again.",
  { headers: { "retry-after": "1" } }
)

/** Characters of a path that a message shows. */
const pathCharactersMax = 80

/** A path for a message: other characters than those of a path are replaced, and a long path is cut. */
const shownPath = (path: string): string => {
  const plain = path.replaceAll(/[^A-Za-z0-9/_.~:%-]/g, "?")
  return plain.length > pathCharactersMax ? `${plain.slice(0, pathCharactersMax)}…` : plain
}

const baseUrl =
  "The base URL for client libraries ends with `/openai/v1`, or with `/v1` for the service's own contract; they add the rest."

const absent =
  "This service has no such interface: it answers messages with POST /v1/responses and keeps files."

const absentForOpenAi =
  "This service has no such interface: GET /openai/v1/openapi.json describes the endpoints for clients of OpenAI."

/** The first match counts. Paths are compared without a trailing slash and in lower case. */
const hints: ReadonlyArray<readonly [path: RegExp, hint: string]> = [
  [
    /^\/openai(\/v1)?$/,
    "The base URL for clients of OpenAI ends with `/openai/v1`; they add the rest, such as POST /openai/v1/responses."
  ],
  [
    /^\/anthropic(\/v1)?$/,
    "The base URL for clients of Anthropic ends with `/anthropic`; they add the rest, such as POST /anthropic/v1/messages."
  ],
  [
    /^\/anthropic\/v1\/messages\/batches(\/|$)/,
    "There are no batches: send each message by itself to POST /anthropic/v1/messages."
  ],
  [
    /^\/anthropic\/v1\/(files|skills|agents|sessions|environments|organizations|complete)(\/|$)/,
    "This service has no such interface: GET /anthropic/v1/openapi.json describes the endpoints for clients of Anthropic."
  ],
  [
    /^\/anthropic\/|^(\/openai)?(\/v1)*\/messages(\/|$)/,
    "Use POST /anthropic/v1/messages: the base URL for clients of Anthropic ends with `/anthropic`, and they add the rest."
  ],
  [/^\/v1$/, "This is the base URL for client libraries; they add the rest, such as POST /v1/responses."],
  [
    /^(\/openai)?\/v1\/(organization|dashboard)(\/|$)/,
    "The usage of a user is on the page Usage of the web application; the operator sees that of all with `parley usage`."
  ],
  [
    /(^|\/)(chat\/)?completions$/,
    "Completions are not offered here. Use POST /v1/responses; in LangChain `use_responses_api=True` (`useResponsesApi: true`), in " +
      "the AI SDK `openai.responses(…)`."
  ],
  [
    /^\/openai\/(?!v1(\/|$))|^\/v1\/openai(\/|$)/,
    "The base URL for clients of OpenAI ends with `/openai/v1`, and they add the rest."
  ],
  [/^(\/openai)?\/v1\/(v1|responses|files|models)\/(responses|files|models|v1|chat)(\/|$)/, baseUrl],
  [/^(\/openai)?\/v1\/v1(\/|$)/, baseUrl],
  [/^(\/api(\/v1)?)?\/(responses|files|models)(\/|$)/, baseUrl],
  [
    /^(\/openai)?\/v1\/responses\/input_tokens$/,
    "Tokens are counted with each answer, in `usage`, and not beforehand."
  ],
  [
    /^\/v1\/responses\/./,
    "`/v1` can't read, cancel or delete a response later. POST /v1/responses goes on from it by `previous_response_id`."
  ],
  [
    /^\/v1\/conversations(\/|$)/,
    "A conversation has GET, PATCH and DELETE /v1/conversations/{conversation_id}. Every response has a `conversation_id`; send it to POST " +
      "/v1/responses to go on."
  ],
  [
    /^\/v1\/vector_stores(\/|$)/,
    "`/v1` has no vector stores. Files of a project are searched when POST /v1/responses has its `project_id`."
  ],
  [
    /^(\/openai)?\/v1\/uploads(\/|$)/,
    "Upload a file in one piece: `files` has the method POST in both interfaces."
  ],
  [
    /^\/openai\/v1\/(moderations|images|audio|batches|assistants|threads|fine_tuning|realtime|videos|containers|evals)(\/|$)/,
    absentForOpenAi
  ],
  [
    /^\/v1\/(embeddings|moderations|images|audio|batches|assistants|threads|fine_tuning|realtime|videos|containers|evals)(\/|$)/,
    absent
  ],
  [/^\/v1\/(response|reponses|responces|repsonses|respones)(\/|$)/, "Did you mean POST /v1/responses?"],
  [/^\/v1\/(file|fils|flies|filse)(\/|$)/, "Did you mean /v1/files?"],
  [/^\/v1\/files\//, "A file has GET and DELETE /v1/files/{file_id}, and GET /v1/files/{file_id}/content."],
  [/^\/admin(\/|$)/, "The operator's side is used with the `parley` command; see `parley --help`."],
  [
    /^\/(openapi|swagger|docs|redoc)/,
    "The description is at GET /openapi.json, and a page about it at /docs."
  ],
  [/^\/openai\//, "GET /openai/v1/openapi.json describes the endpoints for clients of OpenAI."]
]

const fallback = "The endpoints are POST /v1/responses and /v1/files; /docs describes them."

const routeHint = (path: string): string => {
  const plain = path
    .slice(0, 4 * pathCharactersMax)
    .replace(/\/+$/, "")
    .toLowerCase()
  return hints.find(([pattern]) => pattern.test(plain))?.[1] ?? fallback
}

/** `profilePath` is the path of the second profile that has this endpoint, and null if there is none. */
export const unknownRoute = (method: string, path: string, profilePath: string | null = null): Failure => {
  const hint =
    profilePath === null
      ? routeHint(path)
      : `Use ${method} ${shownPath(profilePath)}: the base URL for clients of OpenAI ends with \`/openai/v1\`.`
  return failure(
    404,
    "not_found_error",
    "route_not_found",
    `There is no endpoint \`${method} ${shownPath(path)}\`. ${hint}`
  )
}

/** `methods` are those that the path has. */
export const methodNotAllowed = (method: string, path: string, methods: ReadonlyArray<string>): Failure => {
  const allow = new Set(methods.flatMap((known) => (known === "GET" ? ["GET", "HEAD"] : [known])))
  return refusal(
    405,
    "method_not_allowed",
    `The endpoint \`${shownPath(path)}\` doesn't have the method ${method}. It has ${methods.join(" and ")}.`,
    { allow: [...allow].toSorted().join(", ") }
  )
}
