import { randomUUID } from "node:crypto"
import type { Role } from "../../src/domain/Account.ts"
import type { Sample, Target } from "./ConsoleFixture.ts"

/** Who is admitted: also those without a session, every user, or only some roles. */
export type Admitted = "anyone" | "users" | ReadonlyArray<Role>

const installation: Admitted = ["admin", "owner"]
const organization: Admitted = ["organization_admin", "admin", "owner"]

export interface Expected {
  readonly admitted: Admitted
  /** A request that is in order, about the target. */
  readonly sample: (target: Target) => Sample
  /** Requests that name something of another organization; if left out, the sample does. */
  readonly foreign?: (other: Target, own: Target) => ReadonlyArray<Sample>
}

const none = () => ({})
const ofUser = ({ email }: Target) => ({ query: { email } })
const aboutUser = ({ email }: Target) => ({ body: { email } })
const ofProject = ({ projectId }: Target) => ({ params: { project_id: projectId } })
const ofConversation = ({ email, otherFileId }: Target) => ({
  params: { conversation_id: otherFileId },
  query: { email }
})
const ofOwnConversation = ({ conversationId }: Target) => ({ params: { conversation_id: conversationId } })
const ofAnswer = (target: Target) => ({
  params: { ...ofOwnConversation(target).params, response_id: target.responseId }
})
const ofImage = (target: Target) => ({
  params: { ...ofOwnConversation(target).params, image_id: target.imageId }
})
const ofOwnFile = ({ ownFileId }: Target) => ({ params: { file_id: ownFileId } })
const ofOwnProject = ({ ownProjectId }: Target) => ({ params: { project_id: ownProjectId } })
const ofOwnMember = ({ memberId, ownProjectId }: Target) => ({
  params: { project_id: ownProjectId, user_id: memberId }
})
const ofOwnProjectFile = ({ ownProjectFileId, ownProjectId }: Target) => ({
  params: { project_id: ownProjectId, file_id: ownProjectFileId }
})
/** A file or a member of another organization's project, in a project of one's own. */
const inOwnProject =
  (sample: (target: Target) => Sample) =>
  (other: Target, own: Target): ReadonlyArray<Sample> => [
    sample({ ...other, ownProjectId: own.ownProjectId })
  ]
const ofFile = ({ email, fileId }: Target) => ({ params: { file_id: fileId }, query: { email } })

export const newKey = {
  name: "laptop",
  expires_in_seconds: null,
  daily_tokens: null,
  monthly_tokens: null,
  requests_per_minute: null
}

/**
 * The required behavior of every endpoint of ConsoleApi, by its name. An endpoint that is missing here
 * fails the tests.
 */
export const expectations: Readonly<Record<string, Expected>> = {
  "session.state": { admitted: "anyone", sample: none },
  "session.signIn": {
    admitted: "anyone",
    sample: ({ email }) => ({ body: { email, password: "no such password" } })
  },
  "session.signOut": { admitted: "anyone", sample: none },
  "session.openLink": { admitted: "anyone", sample: () => ({ body: { token: "x" } }) },
  "session.useLink": {
    admitted: "anyone",
    sample: () => ({ body: { token: "x", password: "no such password" } })
  },
  "me.sessions": { admitted: "users", sample: none },
  "me.endSession": { admitted: "users", sample: ({ sessionId }) => ({ params: { id: sessionId } }) },
  "me.endSessions": { admitted: "users", sample: none },
  "me.changePassword": {
    admitted: "users",
    sample: () => ({ body: { current: null, password: `tea ${randomUUID()}` } })
  },
  "me.keys": { admitted: "users", sample: none },
  "me.createKey": { admitted: "users", sample: () => ({ body: newKey }) },
  "me.setKeyLimits": {
    admitted: "users",
    sample: ({ keyId }) => ({ params: { id: keyId }, body: { daily_tokens: 5 } })
  },
  "me.revokeKey": { admitted: "users", sample: ({ keyId }) => ({ params: { id: keyId } }) },
  "me.limits": { admitted: "users", sample: none },
  "me.usage": { admitted: "users", sample: ({ keyId }) => ({ query: { key_id: keyId } }) },
  "conversing.create": { admitted: "users", sample: () => ({ body: { input: "Hello" } }) },
  "conversations.list": { admitted: "users", sample: none },
  "conversations.get": { admitted: "users", sample: ofOwnConversation },
  "conversations.update": {
    admitted: "users",
    sample: (target) => ({ ...ofOwnConversation(target), body: { title: "A renamed conversation" } })
  },
  "conversations.delete": { admitted: "users", sample: ofOwnConversation },
  "conversations.create": { admitted: "users", sample: () => ({ body: {} }) },
  "conversations.discard": { admitted: "users", sample: ofAnswer },
  "answers.ask": {
    admitted: "users",
    sample: (target) => ({ ...ofOwnConversation(target), body: { input: "Hello" } })
  },
  "answers.events": { admitted: "users", sample: ofAnswer },
  "answers.cancel": { admitted: "users", sample: ofAnswer },
  "answers.image": { admitted: "users", sample: ofImage },
  "ownFiles.upload": {
    admitted: "users",
    sample: () => ({
      form: '--b\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n\r\na\r\n--b--\r\n'
    })
  },
  "ownFiles.list": { admitted: "users", sample: none },
  "ownFiles.get": { admitted: "users", sample: ofOwnFile },
  "ownFiles.delete": { admitted: "users", sample: ofOwnFile },
  "ownFiles.content": { admitted: "users", sample: ofOwnFile },
  "ownFiles.text": { admitted: "users", sample: ofOwnFile },
  "ownFiles.storage": { admitted: "users", sample: none },
  "ownFiles.permitted": { admitted: "users", sample: none },
  "ownProjects.list": { admitted: "users", sample: none },
  "ownProjects.create": {
    admitted: "users",
    sample: () => ({ body: { name: `project ${randomUUID()}` } })
  },
  "ownProjects.get": { admitted: "users", sample: ofOwnProject },
  "ownProjects.update": {
    admitted: "users",
    sample: (target) => ({ ...ofOwnProject(target), body: { name: `project ${randomUUID()}` } })
  },
  "ownProjects.delete": { admitted: "users", sample: ofOwnProject },
  "ownProjects.listMembers": { admitted: "users", sample: ofOwnProject },
  "ownProjects.addMember": {
    admitted: "users",
    sample: (target) => ({ ...ofOwnProject(target), body: { email: target.colleague } }),
    foreign: (other, own) => [{ ...ofOwnProject(own), body: { email: other.email } }]
  },
  "ownProjects.updateMember": {
    admitted: "users",
    sample: (target) => ({ ...ofOwnMember(target), body: { role: "owner" } }),
    foreign: inOwnProject((target) => ({ ...ofOwnMember(target), body: { role: "owner" } }))
  },
  "ownProjects.removeMember": { admitted: "users", sample: ofOwnMember, foreign: inOwnProject(ofOwnMember) },
  "ownProjects.listFiles": { admitted: "users", sample: ofOwnProject },
  "ownProjects.addFile": {
    admitted: "users",
    sample: (target) => ({ ...ofOwnProject(target), body: { file_id: target.ownFileId } }),
    foreign: inOwnProject((target) => ({ ...ofOwnProject(target), body: { file_id: target.ownFileId } }))
  },
  "ownProjects.removeFile": {
    admitted: "users",
    sample: ofOwnProjectFile,
    foreign: inOwnProject(ofOwnProjectFile)
  },
  "ownProjects.text": {
    admitted: "users",
    sample: ofOwnProjectFile,
    foreign: inOwnProject(ofOwnProjectFile)
  },
  "ownProjects.search": {
    admitted: "users",
    sample: (target) => ({ ...ofOwnProject(target), body: { query: "notes" } })
  },
  "accounts.listOrganizations": { admitted: organization, sample: none },
  "accounts.createOrganization": {
    admitted: installation,
    sample: () => ({ body: { name: `organization ${randomUUID()}` } })
  },
  "accounts.listUsers": { admitted: organization, sample: none, foreign: (other) => [ofUser(other)] },
  "accounts.createUser": {
    admitted: installation,
    sample: ({ organization }) => ({ body: { email: `${randomUUID()}@example.com`, organization } })
  },
  "people.setRole": {
    admitted: organization,
    sample: ({ email }) => ({ body: { email, role: "organization_admin" } })
  },
  "people.resetPassword": { admitted: organization, sample: aboutUser },
  "people.endSessions": { admitted: organization, sample: aboutUser },
  "people.listIdentities": { admitted: organization, sample: ofUser },
  "people.unlink": { admitted: organization, sample: aboutUser },
  "people.invite": {
    admitted: organization,
    sample: ({ organization }) => ({ body: { email: "invited@example.com", organization } })
  },
  "people.listInvitations": { admitted: organization, sample: none },
  "people.revokeInvitation": {
    admitted: organization,
    sample: ({ invitationId }) => ({ params: { id: invitationId } })
  },
  "people.setUpLink": { admitted: [], sample: none },
  "data.deleteUser": {
    admitted: organization,
    sample: ({ colleague, email }) => ({ body: { email, files_to: colleague } })
  },
  "data.userHoldings": { admitted: organization, sample: ofUser },
  "data.exportUser": { admitted: [], sample: ofUser },
  "data.renameOrganization": {
    admitted: installation,
    sample: ({ organization }) => ({ body: { organization, name: `renamed ${randomUUID()}` } })
  },
  "data.deleteOrganization": {
    admitted: installation,
    sample: ({ emptyOrganization }) => ({ body: { organization: emptyOrganization } })
  },
  "data.renameProject": {
    admitted: organization,
    sample: (target) => ({ ...ofProject(target), body: { name: "a renamed project" } })
  },
  "data.deleteProject": { admitted: organization, sample: ofProject },
  "data.listConversations": { admitted: [], sample: ofUser },
  "data.readConversation": { admitted: [], sample: ofConversation },
  "data.deleteConversation": { admitted: [], sample: ofConversation },
  "adminKeys.list": { admitted: [], sample: none },
  "adminKeys.create": { admitted: [], sample: () => ({ body: { name: "stolen" } }) },
  "adminKeys.revoke": { admitted: [], sample: () => ({ body: { name: "stolen" } }) },
  "accounts.listKeys": {
    admitted: organization,
    sample: ofUser,
    foreign: (other) => [ofUser(other), { query: { organization: other.organization } }]
  },
  "accounts.createKey": {
    admitted: [],
    sample: ({ email }) => ({ body: { email, name: "stolen" } })
  },
  "accounts.rollKey": { admitted: [], sample: ({ keyId }) => ({ params: { id: keyId }, body: {} }) },
  "accounts.setKeyLimits": {
    admitted: organization,
    sample: ({ keyId }) => ({ params: { id: keyId }, body: { daily_tokens: 5 } })
  },
  "accounts.revokeKey": { admitted: organization, sample: ({ keyId }) => ({ params: { id: keyId } }) },
  "files.uploadLimits": { admitted: organization, sample: ofUser },
  "files.upload": {
    admitted: organization,
    sample: ({ email }) => ({ query: { email, filename: "a.txt" }, bytes: "a" })
  },
  "files.list": { admitted: installation, sample: ofUser },
  "files.get": { admitted: installation, sample: ofFile },
  "files.delete": { admitted: installation, sample: ofFile },
  "projects.list": { admitted: organization, sample: none },
  "projects.create": {
    admitted: organization,
    sample: ({ organization }) => ({ body: { name: `project ${randomUUID()}`, organization } })
  },
  "projects.listMembers": { admitted: organization, sample: ofProject },
  "projects.addMember": {
    admitted: organization,
    sample: (target) => ({ ...ofProject(target), body: { email: target.colleague } }),
    foreign: (other, own) => [
      { ...ofProject(other), body: { email: other.colleague } },
      { ...ofProject(other), body: { email: own.colleague } },
      { ...ofProject(own), body: { email: other.email } }
    ]
  },
  "projects.removeMember": {
    admitted: organization,
    sample: (target) => ({ ...ofProject(target), ...ofUser(target) }),
    foreign: (other, own) => [
      { ...ofProject(other), ...ofUser(other) },
      { ...ofProject(own), ...ofUser(other) }
    ]
  },
  "projects.uploadLimits": {
    admitted: organization,
    sample: ofProject,
    foreign: (other, own) => [
      ofProject(other),
      { ...ofProject(other), ...ofUser(own) },
      { ...ofProject(own), ...ofUser(other) }
    ]
  },
  "projects.listFiles": { admitted: organization, sample: ofProject },
  "projects.addFile": {
    admitted: organization,
    sample: (target) => ({ ...ofProject(target), body: { file_id: target.otherFileId } }),
    foreign: (other, own) => [
      { ...ofProject(other), body: { file_id: other.otherFileId } },
      { ...ofProject(other), body: { file_id: own.otherFileId } },
      { ...ofProject(own), body: { file_id: other.otherFileId } }
    ]
  },
  "projects.removeFile": {
    admitted: organization,
    sample: ({ fileId, projectId }) => ({ params: { project_id: projectId, file_id: fileId } }),
    foreign: (other, own) => [
      { params: { project_id: other.projectId, file_id: other.fileId } },
      { params: { project_id: own.projectId, file_id: other.fileId } }
    ]
  },
  "projects.reindex": { admitted: organization, sample: ofProject },
  "projects.search": {
    admitted: organization,
    sample: (target) => ({ ...ofProject(target), body: { query: "notes" } })
  },
  "usage.limits": { admitted: organization, sample: ofUser },
  "usage.setLimits": {
    admitted: installation,
    sample: ({ email }) => ({ body: { email, daily: 1_000 } })
  },
  "usage.usage": {
    admitted: organization,
    sample: ofUser,
    foreign: (other) => [
      ofUser(other),
      { query: { organization: other.organization } },
      { query: { key_id: other.keyId } }
    ]
  },
  "policy.listPlans": { admitted: installation, sample: none },
  "policy.setPlan": {
    admitted: installation,
    sample: ({ organization }) => ({ body: { organization, plan: "gold" } })
  },
  "policy.disableUser": { admitted: organization, sample: aboutUser },
  "policy.enableUser": { admitted: organization, sample: aboutUser },
  "policy.license": { admitted: installation, sample: none },
  "server.reload": { admitted: installation, sample: none },
  "server.models": { admitted: installation, sample: none },
  "server.explainModels": { admitted: installation, sample: () => ({ body: { text: "Hello" } }) },
  "server.config": { admitted: installation, sample: none },
  "server.doctor": { admitted: installation, sample: none },
  "audit.list": {
    admitted: organization,
    sample: none,
    foreign: ({ email, keyId, organization }) => [
      { query: { actor: email } },
      { query: { target_id: keyId } },
      { query: { organization } }
    ]
  },
  "audit.export": {
    admitted: organization,
    sample: () => ({ query: { format: "jsonl" } }),
    foreign: ({ email, organization }) => [
      { query: { format: "csv", actor: email } },
      { query: { format: "csv", organization } }
    ]
  }
}
