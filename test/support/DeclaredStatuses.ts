import { assert } from "@effect/vitest"
import { Predicate } from "effect"
import { OpenApi } from "effect/http-api"
import { AnthropicApi } from "../../src/api/anthropic/AnthropicApi.ts"
import { OpenAiApi } from "../../src/api/openai/OpenAiApi.ts"
import { makeOpenApiDocument, openApiDocumentOf } from "../../src/api/OpenApiDocument.ts"

/** Statuses that any request may have, as the description of the whole interface says. */
const common = [405, 408, 417, 431, 503]

interface Operation {
  readonly method: string
  readonly path: RegExp
  readonly statuses: ReadonlySet<string>
}

const entriesOf = (value: unknown): ReadonlyArray<[string, unknown]> =>
  Predicate.isObject(value) ? Object.entries(value) : []

const operationsOf = (document: { readonly [key: string]: unknown }): ReadonlyArray<Operation> =>
  entriesOf(document["paths"]).flatMap(([path, methods]) =>
    entriesOf(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path: new RegExp(`^${path.replace(/\{\w+\}/g, "[^/]+")}$`),
      statuses: new Set(
        entriesOf(Predicate.isObject(operation) ? Reflect.get(operation, "responses") : null).map(
          ([status]) => status
        )
      )
    }))
  )

let known: ReadonlyArray<Operation> | undefined

const operations = (): ReadonlyArray<Operation> =>
  (known ??= [
    makeOpenApiDocument(),
    openApiDocumentOf(OpenApi.fromApi(OpenAiApi)),
    openApiDocumentOf(OpenApi.fromApi(AnthropicApi))
  ].flatMap(operationsOf))

/** Fails if an operation of a public interface answers with a status that its description doesn't declare. */
export const assertDeclared = (method: string, url: string, status: number, text: string): void => {
  // A port of the operator's has no operation of the public interfaces.
  if (common.includes(status) || /"route_not_found"|There is no endpoint/.test(text)) return
  const { pathname } = new URL(url)
  const fitting = operations().filter((one) => one.method === method && one.path.test(pathname))
  if (fitting.length === 0) return
  const isDeclared = fitting.some(({ statuses }) => statuses.has(String(status)))
  assert.isTrue(isDeclared, `${method} ${pathname} answered ${status}, which openapi.json doesn't declare`)
}
