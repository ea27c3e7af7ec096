/**
 * The pages of the web application. The service answers these paths with the application, which then shows
 * the page; a name that begins with $ is a parameter. None lies under a path of an interface, such as /v1,
 * /admin or /console.
 */
export const pagePaths = {
  home: "/",
  signIn: "/sign-in",
  link: "/link",
  conversations: "/conversations",
  conversation: "/conversations/$id",
  ownProjects: "/projects",
  ownProject: "/projects/$id",
  files: "/files",
  usage: "/usage",
  apiKeys: "/settings/api-keys",
  account: "/settings/account",
  organizations: "/administration/organizations",
  users: "/administration/users",
  user: "/administration/users/details",
  invitations: "/administration/invitations",
  projects: "/administration/projects",
  project: "/administration/projects/details",
  plans: "/administration/plans",
  models: "/administration/models",
  health: "/administration/health",
  audit: "/administration/audit"
} as const

export type PagePath = (typeof pagePaths)[keyof typeof pagePaths]
