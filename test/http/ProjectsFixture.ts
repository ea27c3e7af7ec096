import { randomUUID } from "node:crypto"
import { assert } from "@effect/vitest"
import { DateTime, Effect, Redacted, Schema } from "effect"
import {
  FileTextObject,
  ProjectFileList,
  ProjectFileObject,
  ProjectList,
  ProjectMemberList,
  ProjectMemberObject,
  ProjectObject,
  ProjectSearchResults
} from "../../src/api/ProjectObject.ts"
import { Accounts } from "../../src/auth/Accounts.ts"
import { ApiKeys } from "../../src/auth/ApiKeys.ts"
import { TestApp } from "../support/TestApp.ts"
import { call } from "../support/Wire.ts"

const decoded = <S extends Schema.Codec<unknown, unknown>>(schema: S, text: string): S["Type"] =>
  Schema.decodeUnknownSync(Schema.fromJsonString(schema))(text)

/** An organization without users. */
export const someOrganization = Effect.gen(function* () {
  const name = `organization ${randomUUID()}`
  yield* (yield* Accounts).createOrganization(name, "default")
  return name
})

/** A user of the organization with a key, and what the user asks of `/v1/projects`. */
export const someMember = Effect.fnUntraced(function* (organization: string) {
  const { url } = yield* TestApp
  const { email, id } = yield* (yield* Accounts).createUser(`${randomUUID()}@example.com`, organization)
  const expiresAt = DateTime.add(yield* DateTime.now, { hours: 1 })
  const created = yield* (yield* ApiKeys).create({ userId: id, name: "test", expiresAt })
  const key = Redacted.value(created.key)
  const send = (method: string, path = "", body?: unknown) =>
    call(`${url}/v1/projects${path}`, { method, key, ...(body === undefined ? {} : { body }) })
  const sent =
    <S extends Schema.Codec<unknown, unknown>>(schema: S) =>
    (method: string, path = "", body?: unknown) =>
      Effect.map(send(method, path, body), (reply) => {
        assert.strictEqual(reply.status, 200, reply.text)
        return decoded(schema, reply.text)
      })
  return {
    id,
    email,
    key,
    send,
    list: (query = "") => sent(ProjectList)("GET", query),
    create: (name = `project ${randomUUID()}`) => sent(ProjectObject)("POST", "", { name }),
    get: (id: string) => sent(ProjectObject)("GET", `/${id}`),
    members: (id: string) => sent(ProjectMemberList)("GET", `/${id}/members`),
    addMember: (id: string, email: string, role?: "owner" | "member") =>
      sent(ProjectMemberObject)("POST", `/${id}/members`, { email, ...(role === undefined ? {} : { role }) }),
    files: (id: string) => sent(ProjectFileList)("GET", `/${id}/files`),
    addFile: (id: string, file: string) => sent(ProjectFileObject)("POST", `/${id}/files`, { file_id: file }),
    text: (id: string, file: string, query = "") =>
      sent(FileTextObject)("GET", `/${id}/files/${file}/text${query}`),
    search: (id: string, query: string, limit?: number) =>
      sent(ProjectSearchResults)("POST", `/${id}/search`, {
        query,
        ...(limit === undefined ? {} : { limit })
      })
  }
})
export type Member = Effect.Success<ReturnType<typeof someMember>>

/** A project with its owner, a member, and a user of the organization who is none. */
export const someProject = Effect.gen(function* () {
  const organization = yield* someOrganization
  const [owner, member, stranger] = [
    yield* someMember(organization),
    yield* someMember(organization),
    yield* someMember(organization)
  ]
  const { id } = yield* owner.create()
  yield* owner.addMember(id, member.email)
  return { id, organization, owner, member, stranger, foreigner: yield* someMember(yield* someOrganization) }
})
