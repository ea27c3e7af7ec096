import { assert, describe, expect, it } from "@effect/vitest"
import { Predicate } from "effect"
import { OpenApi } from "effect/http-api"
import { OpenAiApi } from "../../src/api/openai/OpenAiApi.ts"
import { makeOpenApiDocument, openApiDocumentOf } from "../../src/api/OpenApiDocument.ts"

const openApiDocument = makeOpenApiDocument()

/** Every `$ref` of a document. */
const references = (value: unknown): ReadonlyArray<string> => {
  if (Array.isArray(value)) return value.flatMap(references)
  if (!Predicate.isObject(value)) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    key === "$ref" && typeof inner === "string" ? [inner] : references(inner)
  )
}

const at = (value: unknown, ...path: ReadonlyArray<string>): unknown =>
  path.reduce<unknown>(
    (inner, key) => (Predicate.isObject(inner) ? Reflect.get(inner, key) : undefined),
    value
  )

const keysAt = (value: unknown, ...path: ReadonlyArray<string>): ReadonlyArray<string> => {
  const found = at(value, ...path)
  return Predicate.isObject(found) ? Object.keys(found) : []
}

/** Specification, GET /openapi.json and Versioning. */
describe("the published description", () => {
  it("the description is what it was: a change of the interface has to be meant (update with `npm test -- -u`)", async () => {
    await expect(`${JSON.stringify(openApiDocument, null, 2)}\n`).toMatchFileSnapshot("openapi.golden.json")
  })

  it("the description is OpenAPI 3.1, version 1.0.0", () => {
    assert.match(String(at(openApiDocument, "openapi")), /^3\.1\./)
    assert.strictEqual(at(openApiDocument, "info", "version"), "1.0.0")
  })

  it("the description has every endpoint and every error, and nothing of the operator's side", () => {
    assert.sameMembers(
      [...keysAt(openApiDocument, "paths")],
      [
        "/v1/responses",
        "/v1/conversations",
        "/v1/conversations/{conversation_id}",
        "/v1/files",
        "/v1/files/{file_id}",
        "/v1/files/{file_id}/content",
        "/v1/projects",
        "/v1/projects/{project_id}",
        "/v1/projects/{project_id}/members",
        "/v1/projects/{project_id}/members/{user_id}",
        "/v1/projects/{project_id}/files",
        "/v1/projects/{project_id}/files/{file_id}",
        "/v1/projects/{project_id}/files/{file_id}/text",
        "/v1/projects/{project_id}/search",
        "/openapi.json"
      ]
    )
    const responses = keysAt(openApiDocument, "paths", "/v1/responses", "post", "responses")
    assert.includeMembers(
      [...responses],
      ["200", "400", "401", "403", "404", "413", "415", "429", "500", "503"]
    )
    assert.notInclude(JSON.stringify(openApiDocument), "/admin")
  })

  it("the document describes the stream's events", () => {
    const contents = keysAt(openApiDocument, "paths", "/v1/responses", "post", "responses", "200", "content")
    assert.sameMembers([...contents], ["application/json", "text/event-stream"])
    const union = JSON.stringify(at(openApiDocument, "components", "schemas", "ResponseEvent"))
    for (const name of [
      "ResponseCreatedEvent",
      "OutputTextDeltaEvent",
      "ResponseCompletedEvent",
      "ErrorEvent"
    ]) {
      assert.include(union, name)
    }
  })

  it("the description names its server, its license and what may happen to any request", () => {
    assert.deepStrictEqual(at(openApiDocument, "servers"), [{ url: "/", description: "This service." }])
    assert.strictEqual(at(openApiDocument, "info", "license", "identifier"), "MIT")
    assert.match(String(at(openApiDocument, "info", "description")), /417.*431/)
  })

  it("the description has the refusals of a body for the operations that have one", () => {
    for (const path of keysAt(openApiDocument, "paths")) {
      for (const method of keysAt(openApiDocument, "paths", path)) {
        const statuses = keysAt(openApiDocument, "paths", path, method, "responses")
        const hasBody = at(openApiDocument, "paths", path, method, "requestBody") !== undefined
        for (const status of ["408", "413", "415"]) {
          assert.strictEqual(statuses.includes(status), hasBody, `${method} ${path} ${status}`)
        }
      }
    }
  })

  it("the description has the lengths and formats that a request must keep", () => {
    const properties = (schema: string) => at(openApiDocument, "components", "schemas", schema, "properties")
    const has = (value: unknown, part: object) => {
      const text = JSON.stringify(value)
      for (const pair of Object.entries(part)) {
        assert.include(text, JSON.stringify(Object.fromEntries([pair])).slice(1, -1))
      }
    }
    has(at(properties("CreateProjectRequest"), "name"), { minLength: 1, maxLength: 100 })
    has(at(properties("UpdateProjectRequest"), "name"), { minLength: 1, maxLength: 100 })
    has(at(properties("AddProjectMemberRequest"), "email"), { format: "email", maxLength: 254 })
    has(at(properties("AddProjectFileRequest"), "file_id"), { format: "uuid" })
    has(at(properties("SearchProjectRequest"), "query"), { minLength: 1, maxLength: 10_000 })
    has(at(properties("UpdateConversationRequest"), "title"), { minLength: 1, maxLength: 200 })
    has(at(openApiDocument, "paths", "/v1/files", "post", "requestBody"), { minLength: 1, maxLength: 64 })
    const profile = openApiDocumentOf(OpenApi.fromApi(OpenAiApi))
    const metadata = at(profile, "components", "schemas", "UpdateConversationBody", "properties", "metadata")
    has(metadata, { maxProperties: 16, maxLength: 512 })
    const prefixed = at(profile, "paths", "/openai/v1/files/{file_id}", "get", "parameters")
    assert.include(JSON.stringify(prefixed), '"pattern":"^(?:resp_|')
  })

  it("the description declares for each operation the statuses that it has", () => {
    const profile = openApiDocumentOf(OpenApi.fromApi(OpenAiApi))
    const statusesOf = (document: unknown, method: string, path: string) =>
      keysAt(document, "paths", path, method, "responses").join(" ")
    for (const [method, path, expected] of [
      ["get", "/openapi.json", "200 401 403 429 500 503"],
      ["get", "/v1/projects", "200 400 401 403 429 500 503"],
      ["post", "/v1/projects", "200 400 401 403 408 409 413 415 429 500 503"],
      ["get", "/v1/projects/{project_id}", "200 400 401 403 404 429 500 503"],
      ["post", "/v1/responses", "200 400 401 403 404 408 413 415 429 500 503"],
      ["get", "/v1/files/{file_id}/content", "200 206 304 400 401 403 404 412 416 429 500 503"]
    ] as const) {
      assert.strictEqual(statusesOf(openApiDocument, method, path), expected, `${method} ${path}`)
    }
    for (const [method, path, expected] of [
      ["get", "/openai/v1/models", "200 401 403 429 500 503"],
      ["get", "/openai/v1/responses", "101 400 401 403 429 500 503"],
      ["post", "/openai/v1/responses", "200 400 401 403 404 408 409 413 415 422 429 500 503"],
      ["post", "/openai/v1/responses/{response_id}/cancel", "200 400 401 403 404 409 429 500 503"]
    ] as const) {
      assert.strictEqual(statusesOf(profile, method, path), expected, `${method} ${path}`)
    }
  })

  it("the description has the headers of a download", () => {
    const download = ["paths", "/v1/files/{file_id}/content", "get", "responses"] as const
    const headersOf = (status: string) => [...keysAt(openApiDocument, ...download, status, "headers")]
    const whole = ["etag", "last-modified", "accept-ranges", "content-disposition", "content-length"]
    assert.includeMembers(headersOf("200"), whole)
    assert.includeMembers(headersOf("206"), [...whole, "content-range"])
    assert.include(headersOf("304"), "etag")
    assert.include(headersOf("416"), "content-range")
  })

  it("the description has the upload as a form, and the download as bytes that may come in part", () => {
    const upload = at(openApiDocument, "paths", "/v1/files", "post")
    assert.deepStrictEqual([...keysAt(upload, "requestBody", "content")], ["multipart/form-data"])
    const download = ["paths", "/v1/files/{file_id}/content", "get", "responses"] as const
    assert.deepStrictEqual(
      [...keysAt(openApiDocument, ...download, "200", "content")],
      ["application/octet-stream"]
    )
    assert.includeMembers([...keysAt(openApiDocument, ...download)], ["206", "304", "416"])
  })

  it("the description needs a key for every operation", () => {
    for (const path of keysAt(openApiDocument, "paths")) {
      for (const method of keysAt(openApiDocument, "paths", path)) {
        assert.deepStrictEqual(at(openApiDocument, "paths", path, method, "security"), [{ bearer: [] }])
      }
    }
  })

  it("the description has no dangling reference, no name twice, and nothing of the framework", () => {
    const names = new Set(keysAt(openApiDocument, "components", "schemas"))
    for (const reference of references(openApiDocument)) {
      assert.isDefined(at(openApiDocument, ...reference.split("/").slice(1)), reference)
    }
    for (const name of names) assert.notMatch(name, /Encoded$|_\d+$/)
    assert.notInclude(JSON.stringify(openApiDocument), "effect")
  })

  it("the description has the headers of every response", () => {
    for (const path of keysAt(openApiDocument, "paths")) {
      for (const method of keysAt(openApiDocument, "paths", path)) {
        const responses = ["paths", path, method, "responses"] as const
        for (const status of keysAt(openApiDocument, ...responses)) {
          const headers = keysAt(openApiDocument, ...responses, status, "headers")
          assert.include([...headers], "x-request-id", `${method} ${path} ${status}`)
          assert.strictEqual(headers.includes("retry-after"), status === "429" || status === "503")
          for (const name of [
            "x-should-retry",
            "x-token-limit",
            "x-token-limit-used",
            "x-token-limit-held"
          ]) {
            assert.strictEqual(headers.includes(name), status === "429")
          }
        }
      }
    }
    const create = ["paths", "/v1/responses", "post", "responses", "200", "headers"] as const
    assert.include([...keysAt(openApiDocument, ...create)], "x-conversation-id")
  })

  it("the description says of every response what it is", () => {
    for (const path of keysAt(openApiDocument, "paths")) {
      for (const method of keysAt(openApiDocument, "paths", path)) {
        const responses = ["paths", path, method, "responses"] as const
        for (const status of keysAt(openApiDocument, ...responses)) {
          const text = String(at(openApiDocument, ...responses, status, "description"))
          assert.match(text, / .*\.$/, `${method} ${path} ${status}`)
        }
      }
    }
  })

  it("the description leaves room for fields that come later", () => {
    assert.notInclude(JSON.stringify(openApiDocument), '"additionalProperties":false')
  })
})
