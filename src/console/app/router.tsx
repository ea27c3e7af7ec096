import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  notFound,
  redirect
} from "@tanstack/react-router"
import { type PagePath, pagePaths } from "../PagePaths.ts"
import { loadPart } from "./client/loadPart.ts"
import { queries } from "./client/queries.ts"
import { auditSearch } from "./pages/administration/audit/filterNames.ts"
import { FailedPage } from "./pages/FailedPage.tsx"
import { NotFoundPage } from "./pages/NotFoundPage.tsx"
import { placeOf, returnPath } from "./session/returnPath.ts"
import { sessionQuery } from "./session/session.ts"
import { isFor } from "./shell/navigation.ts"
import { Shell } from "./shell/Shell.tsx"
import { Loading } from "./ui/Loading.tsx"

const rootRoute = createRootRoute({ notFoundComponent: NotFoundPage })

type PageModule = Parameters<typeof lazyRouteComponent>[0]

/** A page's component, which is loaded when the page is opened; its module exports it under that name. */
const component = (load: PageModule, name: string) => lazyRouteComponent(() => loadPart(load), name)

interface SignInSearch {
  /** The page that was asked for. */
  readonly next?: string | undefined
  /** Why the identity provider led back here. */
  readonly problem?: string | undefined
}

const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: pagePaths.signIn,
  validateSearch: (search): SignInSearch => {
    const problem = search["problem"]
    // A field that were left out would stay as it is in the address.
    return { next: returnPath(search["next"]), problem: typeof problem === "string" ? problem : undefined }
  },
  beforeLoad: async ({ search }) => {
    const { user } = await queries.ensureQueryData(sessionQuery)
    if (user !== null) throw redirect(placeOf(search.next ?? pagePaths.home))
  },
  component: component(() => import("./pages/entry/SignInPage.tsx"), "SignInPage")
})

const linkRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: pagePaths.link,
  component: component(() => import("./pages/entry/LinkPage.tsx"), "LinkPage")
})

/** The pages of those who are signed in. Others sign in first, and then come to the page they asked for. */
const sessionRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: "session",
  beforeLoad: async ({ location }) => {
    const { user } = await queries.ensureQueryData(sessionQuery)
    if (user === null) {
      const search = location.href === pagePaths.home ? {} : { next: location.href }
      throw redirect({ to: pagePaths.signIn, search })
    }
    if (!isFor(user.role, location.pathname)) throw notFound()
  },
  component: Shell
})

/** A page within the shell. */
const page = <Path extends PagePath>(path: Path, load: PageModule, name: string) =>
  createRoute({ getParentRoute: () => sessionRoute, path, component: component(load, name) })

const userRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: pagePaths.user,
  validateSearch: ({ email }): { readonly email?: string } => (typeof email === "string" ? { email } : {}),
  component: component(() => import("./pages/administration/UserPage.tsx"), "UserPage")
})

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

const projectRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: pagePaths.project,
  validateSearch: ({ id, name }): { readonly id?: string; readonly name?: string } => ({
    id: textOf(id),
    name: textOf(name)
  }),
  component: component(() => import("./pages/administration/ProjectPage.tsx"), "ProjectPage")
})

/** With `project`, the list shows those about it, and a new conversation is about it. */
const conversationsRoute = createRoute({
  getParentRoute: () => sessionRoute,
  id: "conversations",
  validateSearch: ({ project }: Record<string, unknown>): { readonly project?: string } =>
    typeof project === "string" ? { project } : {},
  component: component(() => import("./pages/conversations/ConversationsPage.tsx"), "ConversationsPage")
})
/** One page, so that its list stays as it is. */
const conversationsPath = <Path extends PagePath>(path: Path) =>
  createRoute({ getParentRoute: () => conversationsRoute, path })

const auditRoute = createRoute({
  getParentRoute: () => sessionRoute,
  path: pagePaths.audit,
  validateSearch: auditSearch,
  component: component(() => import("./pages/administration/AuditPage.tsx"), "AuditPage")
})

const routeTree = rootRoute.addChildren([
  signInRoute,
  linkRoute,
  sessionRoute.addChildren([
    page(pagePaths.home, () => import("./pages/home/HomePage.tsx"), "HomePage"),
    conversationsRoute.addChildren([
      conversationsPath(pagePaths.conversations),
      conversationsPath(pagePaths.conversation)
    ]),
    page(pagePaths.ownProjects, () => import("./pages/projects/OwnProjectsPage.tsx"), "OwnProjectsPage"),
    page(pagePaths.ownProject, () => import("./pages/projects/OwnProjectPage.tsx"), "OwnProjectPage"),
    page(pagePaths.files, () => import("./pages/files/FilesPage.tsx"), "FilesPage"),
    page(pagePaths.usage, () => import("./pages/UsagePage.tsx"), "UsagePage"),
    page(pagePaths.apiKeys, () => import("./pages/settings/ApiKeysPage.tsx"), "ApiKeysPage"),
    page(pagePaths.account, () => import("./pages/settings/AccountPage.tsx"), "AccountPage"),
    page(
      pagePaths.organizations,
      () => import("./pages/administration/OrganizationsPage.tsx"),
      "OrganizationsPage"
    ),
    page(pagePaths.users, () => import("./pages/administration/UsersPage.tsx"), "UsersPage"),
    page(
      pagePaths.invitations,
      () => import("./pages/administration/InvitationsPage.tsx"),
      "InvitationsPage"
    ),
    page(pagePaths.plans, () => import("./pages/administration/PlansPage.tsx"), "PlansPage"),
    page(pagePaths.models, () => import("./pages/administration/ModelsPage.tsx"), "ModelsPage"),
    page(pagePaths.health, () => import("./pages/administration/HealthPage.tsx"), "HealthPage"),
    userRoute,
    page(pagePaths.projects, () => import("./pages/administration/ProjectsPage.tsx"), "ProjectsPage"),
    projectRoute,
    auditRoute
  ])
])

export const router = createRouter({
  routeTree,
  basepath: new URL(document.baseURI).pathname,
  defaultErrorComponent: FailedPage,
  defaultPendingComponent: Loading,
  scrollRestoration: true
})

/** Keyboard and screen reader users continue at the title of the page they opened. */
router.subscribe("onRendered", ({ fromLocation, pathChanged }) => {
  if (fromLocation !== undefined && pathChanged) document.querySelector<HTMLElement>("main h1")?.focus()
})

declare module "@tanstack/react-router" {
  interface Register {
    readonly router: typeof router
  }
}
