import {
  Activity,
  Boxes,
  Building2,
  ChartColumn,
  FolderCog,
  Files,
  FolderOpen,
  House,
  KeyRound,
  LayoutList,
  type LucideIcon,
  MailPlus,
  MessagesSquare,
  ScrollText,
  UserRound,
  Users
} from "lucide-react"
import type { Role } from "../../../domain/Account.ts"
import { type PagePath, pagePaths } from "../../PagePaths.ts"

interface NavigationEntry {
  readonly label: string
  readonly path: PagePath
  readonly icon: LucideIcon
  /** Undefined: everybody. */
  readonly roles?: ReadonlyArray<Role>
}

interface NavigationArea {
  /** Null for the first area, which needs no heading. */
  readonly heading: string | null
  readonly entries: ReadonlyArray<NavigationEntry>
}

const installation: ReadonlyArray<Role> = ["owner", "admin"]
const organization: ReadonlyArray<Role> = [...installation, "organization_admin"]

const areas: ReadonlyArray<NavigationArea> = [
  {
    heading: null,
    entries: [
      { label: "Home", path: pagePaths.home, icon: House },
      { label: "Conversations", path: pagePaths.conversations, icon: MessagesSquare },
      { label: "Projects", path: pagePaths.ownProjects, icon: FolderOpen },
      { label: "Files", path: pagePaths.files, icon: Files },
      { label: "Usage", path: pagePaths.usage, icon: ChartColumn }
    ]
  },
  {
    heading: "Settings",
    entries: [
      { label: "API keys", path: pagePaths.apiKeys, icon: KeyRound },
      { label: "Account", path: pagePaths.account, icon: UserRound }
    ]
  },
  {
    heading: "Administration",
    entries: [
      {
        label: "Organizations",
        path: pagePaths.organizations,
        icon: Building2,
        roles: organization
      },
      { label: "Users", path: pagePaths.users, icon: Users, roles: organization },
      {
        label: "Invitations",
        path: pagePaths.invitations,
        icon: MailPlus,
        roles: organization
      },
      { label: "All projects", path: pagePaths.projects, icon: FolderCog, roles: organization },
      {
        label: "Plans & limits",
        path: pagePaths.plans,
        icon: LayoutList,
        roles: installation
      },
      { label: "Models", path: pagePaths.models, icon: Boxes, roles: installation },
      { label: "Health", path: pagePaths.health, icon: Activity, roles: installation },
      { label: "Audit log", path: pagePaths.audit, icon: ScrollText, roles: organization }
    ]
  }
]

/** A page whose path lies below that of another one is for the same roles. */
const isWithin = (path: string, page: PagePath): boolean => path === page || path.startsWith(`${page}/`)

/**
 * True if a user of this role may open the page. The service decides on its answers; this only leads there or
 * not.
 */
export const isFor = (role: Role, path: string): boolean =>
  areas.every(({ entries }) =>
    entries.every((entry) => !isWithin(path, entry.path) || entry.roles?.includes(role) !== false)
  )

/** The areas that the navigation shows to a user of this role. */
export const areasFor = (role: Role): ReadonlyArray<NavigationArea> =>
  areas
    .map(({ entries, heading }) => ({
      heading,
      entries: entries.filter(({ path }) => isFor(role, path))
    }))
    .filter(({ entries }) => entries.length > 0)
