import type { Page } from "playwright-core"
import { pagePaths } from "../../src/console/PagePaths.ts"

export type PageName = keyof typeof pagePaths

type Step = (page: Page) => Promise<unknown>

/** A page with its content, and with everything that opens over it or in it. */
export interface PageCase {
  /** With its search; without it, the page's path. */
  readonly path?: string
  /** A text that is there once the content is. */
  readonly content: string
  /** Steps that open more, by name; each step begins with the page in its first state. */
  readonly opens?: Readonly<Record<string, Step>>
  /** A text that is there where the page has nothing to show. */
  readonly empty?: string
  /** Undefined: as with content. */
  readonly emptyPath?: string
  /** True if the page requests its content from the service, and shows a failure of that. */
  readonly isLoaded: boolean
}

/** A name as long as it may be, without a blank. */
export const longName = "Long".repeat(25)
export const longEmail = `${longName}@example.com`
const word = longName.slice(0, 50)
/** In the name of a project of the user, which can't be that of another one of the organization. */
export const projectWord = longName.slice(4)

const press =
  (name: string | RegExp): Step =>
  (page) =>
    page.getByRole("button", { name }).first().click()
const choose =
  (label: string): Step =>
  async (page) => {
    await press(/^Actions for Long/)(page)
    await page.getByRole("menuitem", { name: label }).click()
  }
const dialog: Step = (page) => page.getByRole("dialog").or(page.getByRole("alertdialog")).first().waitFor()
const inDialog =
  (...steps: ReadonlyArray<Step>): Step =>
  async (page) => {
    for (const step of steps) await step(page)
    await dialog(page)
  }
const tab =
  (name: string): Step =>
  (page) =>
    page.getByRole("tab", { name }).click()

const createKey: Step = async (page) => {
  await press("Create key")(page)
  await page.getByLabel("Name").fill(longName)
  await page.getByRole("dialog").getByRole("button", { name: "Create key" }).click()
  await page.getByText("Your new API key").waitFor()
}

const createInvitation: Step = async (page) => {
  await press("Invite user")(page)
  await page.getByRole("dialog").getByLabel("E-mail address").fill(`new-${longEmail}`)
  await press("Create invitation")(page)
  await page.getByText("Copy the link now").waitFor()
}

const explain: Step = async (page) => {
  await tab("Why one is chosen")(page)
  await page.getByLabel("Message").fill(longName)
  await press("Explain")(page)
  await page.getByText("parley-offline").first().waitFor()
}

const showSettings: Step = async (page) => {
  await tab("Settings")(page)
  await page.getByText("PARLEY_PUBLIC_URL").first().waitFor()
}

const search = (email: string) => `?email=${encodeURIComponent(email)}`

const newConversation = "What would you like to know?"

/** The pages of one thing each. */
export type SingleName = "project" | "ownProject" | "conversation"

/**
 * Every page of PagePaths but those of a project and of a conversation, whose addresses have an id. A page
 * without a case doesn't compile.
 */
export const pageCases: Readonly<Record<Exclude<PageName, SingleName>, PageCase>> = {
  home: { content: "Ask a question", isLoaded: false },
  signIn: { content: "Sign in", isLoaded: false },
  link: { content: "lacks the secret part", isLoaded: false },
  conversations: {
    content: newConversation,
    opens: {
      instructions: (page) => page.getByText("Instructions for this conversation").click(),
      list: (page) => page.getByRole("link", { name: longName }).first().waitFor({ state: "attached" })
    },
    empty: newConversation,
    isLoaded: false
  },
  ownProjects: {
    content: projectWord,
    opens: { create: inDialog(press("Create project")) },
    empty: "You are in no project yet",
    isLoaded: true
  },
  files: {
    content: longName,
    opens: {
      text: inDialog(choose("What the model sees")),
      delete: inDialog(choose("Delete…"))
    },
    empty: "You have no files yet",
    isLoaded: true
  },
  usage: {
    content: "tokens from",
    opens: { models: tab("By model"), keys: tab("By key") },
    empty: "No requests in this period",
    isLoaded: true
  },
  apiKeys: {
    content: longName,
    opens: {
      create: inDialog(press("Create key"), (page) => page.getByText("Limits of this key").click()),
      created: createKey,
      menu: press(/^Actions for Long/),
      limits: inDialog(choose("Change limits…")),
      revoke: inDialog(choose("Revoke…"))
    },
    empty: "You have no API key yet",
    isLoaded: true
  },
  account: {
    content: "This device",
    opens: { everywhere: inDialog(press("Sign out everywhere")) },
    isLoaded: true
  },
  organizations: {
    content: longName,
    opens: {
      create: inDialog(press("Create organization")),
      plan: inDialog(choose("Change plan…")),
      rename: inDialog(choose("Rename…")),
      delete: inDialog(choose("Delete…"))
    },
    isLoaded: true
  },
  users: {
    content: longEmail,
    opens: {
      create: inDialog(press("Create user")),
      invite: inDialog(press("Invite user")),
      role: inDialog(choose("Change role…")),
      password: inDialog(choose("Create password link…")),
      disable: inDialog(choose("Disable…")),
      delete: inDialog(choose("Delete…"))
    },
    isLoaded: true
  },
  user: {
    path: pagePaths.user + search(longEmail),
    content: "API keys",
    opens: { limits: inDialog(press("Change limits")) },
    empty: "There is no user of this address",
    emptyPath: pagePaths.user + search("missing@example.com"),
    isLoaded: true
  },
  invitations: {
    content: `open-${longEmail}`,
    opens: { invited: createInvitation, revoke: inDialog(press(/^Revoke the invitation/)) },
    empty: "No invitation is open",
    isLoaded: true
  },
  projects: {
    content: longName,
    opens: { create: inDialog(press("Create project")) },
    empty: "There is no project yet",
    isLoaded: true
  },
  plans: { content: word, isLoaded: true },
  models: { content: "parley-offline", opens: { explained: explain }, isLoaded: true },
  health: { content: "Check again", opens: { settings: showSettings }, isLoaded: true },
  audit: {
    content: longName,
    opens: { entry: inDialog(press(/^Details of/)) },
    empty: "No entry matches",
    emptyPath: `${pagePaths.audit}?actor=missing@example.com`,
    isLoaded: true
  }
}

/** The page of a conversation. */
export const conversationCase = (id: string): PageCase => ({
  path: `/conversations/${id}`,
  content: longName,
  opens: {
    request: inDialog(press("View as API request")),
    edit: press("Edit")
  },
  empty: "This conversation was deleted",
  emptyPath: "/conversations/0190f000-0000-7000-8000-000000000001",
  isLoaded: true
})

/** The page of a project for its members; the file is one of it. */
export const ownProjectCase = (id: string): PageCase => {
  const ofProject =
    (label: string): Step =>
    async (page) => {
      await press("Actions for the project")(page)
      await page.getByRole("menuitem", { name: label }).click()
    }
  const ofMember = (label: string) => inDialog(tab("Members"), choose(label))
  return {
    path: `/projects/${id}`,
    content: `${longName}.txt`,
    opens: {
      add: inDialog(press("Add from my files"), (page) => page.getByRole("checkbox").first().waitFor()),
      read: inDialog(choose("What the model sees"), (page) =>
        page.getByRole("region", { name: "Text" }).waitFor()
      ),
      remove: inDialog(choose("Remove…")),
      menu: press("Actions for the project"),
      rename: inDialog(ofProject("Rename…")),
      delete: inDialog(ofProject("Delete…")),
      leave: inDialog(ofProject("Leave…")),
      members: tab("Members"),
      addMember: inDialog(tab("Members"), press("Add member")),
      role: ofMember("Change role…"),
      removeMember: ofMember("Remove…")
    },
    empty: "The project does not exist",
    emptyPath: "/projects/0190f000-0000-7000-8000-000000000001",
    isLoaded: true
  }
}

/** The page of the project. */
export const projectCase = ({ id, name }: { readonly id: string; readonly name: string }): PageCase => ({
  path: `${pagePaths.project}?id=${id}&name=${name}`,
  content: longEmail,
  opens: {
    add: inDialog(press("Add member")),
    rename: inDialog(press("Rename…")),
    delete: inDialog(press("Delete…")),
    remove: inDialog(press(/^Remove Long/)),
    index: inDialog(press("Index again"))
  },
  empty: "There is no such project",
  emptyPath: `${pagePaths.project}?id=missing&name=missing`,
  isLoaded: true
})
