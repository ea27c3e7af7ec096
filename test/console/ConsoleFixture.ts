import { randomUUID } from "node:crypto"
import { Effect, Redacted, Stream } from "effect"
import { HttpApi, type HttpApiEndpoint } from "effect/http-api"
import { SqlClient } from "effect/sql"
import { Accounts } from "../../src/auth/Accounts.ts"
import { ApiKeys } from "../../src/auth/ApiKeys.ts"
import { Links } from "../../src/auth/Links.ts"
import { Sessions } from "../../src/auth/Sessions.ts"
import { ConsoleApi } from "../../src/console/ConsoleApi.ts"
import { ListedConversations } from "../../src/conversations/ListedConversations.ts"
import type { Role } from "../../src/domain/Account.ts"
import type { UserId } from "../../src/domain/Ids.ts"
import { FileStore } from "../../src/files/FileStore.ts"
import { Policy } from "../../src/plans/Policy.ts"
import { Projects } from "../../src/projects/Projects.ts"
import { someFile } from "../retrieval/fixtures.ts"
import { TestApp } from "../support/TestApp.ts"
import { call, type Reply } from "../support/Wire.ts"

/** An endpoint of ConsoleApi under its name, such as `me.keys`. */
export interface Declared {
  readonly name: string
  readonly endpoint: HttpApiEndpoint.Top
}

/** Every endpoint that ConsoleApi declares. */
export const declared: ReadonlyArray<Declared> = (() => {
  const found: Array<Declared> = []
  HttpApi.reflect(ConsoleApi, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, group }) => {
      found.push({ name: `${group.identifier}.${endpoint.identifier}`, endpoint })
    }
  })
  return found
})()

export const isSafe = ({ endpoint }: Declared): boolean => endpoint.method === "GET"

/** The ids and names by which a request can name something of an organization. */
export interface Target {
  readonly organization: string
  readonly organizationId: string
  /** An organization without users. */
  readonly emptyOrganization: string
  readonly userId: string
  readonly email: string
  /** Another user of the same organization, who is no member of the project. */
  readonly colleague: string
  readonly keyId: string
  readonly sessionId: string
  readonly invitationId: string
  readonly projectId: string
  /** A file of the user that is in the project, and one that isn't. */
  readonly fileId: string
  readonly otherFileId: string
  /** A conversation of the user. */
  readonly conversationId: string
  /** An answer of it that has ended, and an image of it. */
  readonly responseId: string
  readonly imageId: string
  /** A project that the user owns, another member of it, and a file of the user in it. */
  readonly ownProjectId: string
  readonly memberId: string
  readonly ownProjectFileId: string
  /** An uploaded file of the user, which is in no project. */
  readonly ownFileId: string
}

/** Names of nothing. */
export const unknownTarget = (): Target => ({
  organization: `organization ${randomUUID()}`,
  organizationId: randomUUID(),
  emptyOrganization: `organization ${randomUUID()}`,
  userId: randomUUID(),
  email: `${randomUUID()}@example.com`,
  colleague: `${randomUUID()}@example.com`,
  keyId: randomUUID(),
  sessionId: randomUUID(),
  invitationId: randomUUID(),
  projectId: randomUUID(),
  fileId: randomUUID(),
  otherFileId: randomUUID(),
  conversationId: randomUUID(),
  responseId: randomUUID(),
  imageId: randomUUID(),
  ownProjectId: randomUUID(),
  memberId: randomUUID(),
  ownProjectFileId: randomUUID(),
  ownFileId: randomUUID()
})

export interface SignedIn {
  readonly target: Target
  /** The headers that the browser sends with a request of its session. */
  readonly headers: Record<string, string>
  readonly secret: string
  readonly csrfToken: string
}

const client = { address: "192.0.2.1", userAgent: "test" }

export const setRole = Effect.fnUntraced(function* (userId: string, role: Role) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE users SET role = ${role} WHERE id = ${userId}`
})

/** Links a user to an account of an identity provider, named after the user. */
export const linkIdentity = Effect.fnUntraced(function* (userId: string) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    INSERT INTO identities (issuer, subject, user_id, linked_at)
    VALUES ('https://login.example.com', ${`subject ${userId}`}, ${userId}, now())`
})

/** One more session of a user. */
export const startSession = Effect.fnUntraced(function* (target: Target) {
  const { url } = yield* TestApp
  const sessions = yield* Sessions
  const { secret, session } = yield* sessions.start(target.userId as never, client, "link")
  const known = yield* sessions.find(secret)
  const text = Redacted.value(secret)
  const csrfToken = known!.csrfToken
  const headers = { cookie: `parley_session=${text}`, "x-csrf-token": csrfToken, origin: url }
  return { target: { ...target, sessionId: session.id }, headers, secret: text, csrfToken } satisfies SignedIn
})

const someConversation = Effect.fnUntraced(function* (userId: UserId) {
  const conversations = yield* ListedConversations
  const created = { title: "a conversation", systemMessage: null, projectId: null }
  const { id } = yield* conversations.create(userId, created)
  const sql = yield* SqlClient.SqlClient
  const [responseId, imageId] = [randomUUID(), randomUUID()]
  yield* sql`INSERT INTO turns (response_id, conversation_id, user_id, position, model, prompt_tokens)
    VALUES (${responseId}, ${id}, ${userId}, 0, 'scripted', 1)`
  yield* sql`UPDATE conversations SET turn_count = 1 WHERE id = ${id}`
  yield* sql`INSERT INTO images (response_id, id, user_id, media_type, bytes)
    VALUES (${responseId}, ${imageId}, ${userId}, 'image/png', '\x89504e47')`
  yield* sql`INSERT INTO response_jobs (response_id, kind, conversation_id, user_id, api_key_id, background, status, request, ended_at)
    VALUES (${responseId}, 'question', ${id}, ${userId}, ${randomUUID()}, false, 'completed', '{}', now())`
  return { conversationId: id as string, responseId, imageId }
})

const uploaded = Effect.fnUntraced(function* (userId: UserId) {
  const about = Effect.succeed({ filename: "own.txt", purpose: "assistants" })
  const incoming = { bytes: Stream.make(new TextEncoder().encode("notes")), about }
  return (yield* (yield* FileStore).upload(userId, incoming)).id
})

/**
 * Creates everything that a user owns besides keys and sessions. The other user becomes a member of the
 * project.
 */
const ownedBy = Effect.fnUntraced(function* (userId: UserId, otherEmail: string) {
  const projects = yield* Projects
  const { id: ownProjectId } = yield* projects.createOwn(userId, `project ${randomUUID()}`)
  const membership = yield* (yield* Policy).project(userId, ownProjectId)
  const { userId: memberId } = yield* projects.addMember(membership, otherEmail)
  const ownProjectFileId = yield* someFile(userId, "notes", "notes.md")
  yield* projects.addFile(membership, ownProjectFileId)
  const ownFileId = yield* uploaded(userId)
  return { ownProjectId, memberId, ownProjectFileId, ownFileId, ...(yield* someConversation(userId)) }
})

/**
 * An organization with two users, of whom the first has a key, a session, an identity, and a project with a
 * file.
 */
export const someTenant = Effect.gen(function* () {
  const accounts = yield* Accounts
  const apiKeys = yield* ApiKeys
  const projects = yield* Projects
  const names = unknownTarget()
  const organization = yield* accounts.createOrganization(names.organization, "default")
  yield* accounts.createOrganization(names.emptyOrganization, "default")
  const user = yield* accounts.createUser(names.email, organization.name)
  yield* accounts.createUser(names.colleague, organization.name)
  yield* linkIdentity(user.id)
  const key = yield* apiKeys.create({ userId: user.id, name: "a key", expiresAt: null })
  const links = yield* Links
  const invitation = yield* links.invite(`${randomUUID()}@example.com`, organization.name, "member")
  const project = yield* projects.create("a project", organization.name)
  yield* projects.addMember(project.id, user.email, "owner")
  const { email: otherOwner } = yield* accounts.createUser(`${randomUUID()}@example.com`, organization.name)
  yield* projects.addMember(project.id, otherOwner, "owner")
  const fileId = yield* someFile(user.id, "notes", "notes.md")
  yield* projects.addFile(project.id, fileId)
  const target: Target = {
    ...names,
    organizationId: organization.id,
    userId: user.id,
    keyId: key.id,
    invitationId: invitation.id,
    projectId: project.id,
    fileId,
    otherFileId: yield* someFile(user.id, "other", "other.md"),
    ...(yield* ownedBy(user.id, names.colleague))
  }
  return (yield* startSession(target)).target
})

/** A user of that organization with that role, signed in. */
export const someone = Effect.fnUntraced(function* (role: Role, tenant: Target) {
  const accounts = yield* Accounts
  const user = yield* accounts.createUser(`${randomUUID()}@example.com`, tenant.organization)
  const key = yield* (yield* ApiKeys).create({ userId: user.id, name: "own", expiresAt: null })
  yield* setRole(user.id, role)
  const own = yield* ownedBy(user.id, tenant.email)
  return yield* startSession({ ...tenant, userId: user.id, email: user.email, keyId: key.id, ...own })
})

interface Refused {
  readonly tenant: Target
  readonly actors: Map<Role, SignedIn>
}

/** The key is the service, because a worker runs many test files. */
const refusedOf = new WeakMap<TestApp["Service"], Refused>()

/** One tenant for all requests that are refused: they change nothing. */
const refused = Effect.gen(function* () {
  const app = yield* TestApp
  const known = refusedOf.get(app)
  if (known !== undefined) return known
  const made: Refused = { tenant: yield* someTenant, actors: new Map() }
  refusedOf.set(app, made)
  return made
})

export const refusedTenant = Effect.map(refused, ({ tenant }) => tenant)

/** A user of that tenant with that role, signed in. */
export const refusedActor = Effect.fnUntraced(function* (role: Role) {
  const { actors, tenant } = yield* refused
  const known = actors.get(role)
  if (known !== undefined) return known
  const actor = yield* someone(role, tenant)
  actors.set(role, actor)
  return actor
})

/** The parts of a request besides its headers. */
export interface Sample {
  readonly params?: Record<string, string>
  readonly query?: Record<string, string>
  readonly body?: unknown
  /** Sent as it is. */
  readonly bytes?: string
  /** Sent as it is, as a form with the boundary `b`. */
  readonly form?: string
}

/** Sends a request for an endpoint. */
export const send = Effect.fnUntraced(function* (
  { endpoint }: Declared,
  { body, bytes, form, params = {}, query = {} }: Sample,
  headers: Record<string, string>
): Effect.fn.Return<Reply, never, TestApp> {
  const { url } = yield* TestApp
  const path = endpoint.path.replace(/:(\w+)/g, (_, name: string) => params[name]!)
  const search = new URLSearchParams(query).toString()
  const contentType =
    form === undefined
      ? bytes === undefined
        ? {}
        : { "content-type": "application/octet-stream" }
      : { "content-type": "multipart/form-data; boundary=b" }
  return yield* call(`${url}${path}${search === "" ? "" : `?${search}`}`, {
    method: endpoint.method,
    headers: { ...headers, ...contentType },
    body: form ?? bytes ?? body
  })
})
