/** The path at which `parley doctor` reads a stream through the address that people use: see StreamProbe. */
export const streamProbePath = "/healthz/stream"

/** Paths that machines request again and again. */
export const probes: ReadonlySet<string | null> = new Set([
  "/healthz",
  "/readyz",
  "/metrics",
  streamProbePath
])

/**
 * The path to which an identity provider sends browsers back, below the address of the service; to be
 * registered with the provider.
 */
export const identityCallbackPath = "/console/sign-in/oidc/callback"

export interface Route {
  readonly method: string
  /** The path with its parameters by name, such as `/v1/files/:file_id`. */
  readonly template: string
  readonly path: RegExp
}

export const route = (method: string, template: string): Route => ({
  method,
  template,
  path: new RegExp(`^${template.replace(/:[^/]+/g, "[^/]+")}/?$`)
})

interface Declared {
  readonly groups: {
    readonly [name: string]: {
      readonly endpoints: { readonly [name: string]: { readonly path: string; readonly method: string } }
    }
  }
}

/** The routes that an HttpApi declares. */
export const routesOf = (api: Declared): ReadonlyArray<Route> =>
  Object.values(api.groups)
    .flatMap(({ endpoints }) => Object.values(endpoints))
    .map(({ method, path }) => route(method, path))

/** The path of a URL without its query. */
export const pathOf = (url: string): string => url.replace(/[?#][^]*/, "")

/** Finds the template of a path, which holds nothing that a client chose; null for a path without a route. */
export const makeTemplateOf = (routes: ReadonlyArray<Route>): ((path: string) => string | null) => {
  const fixed = new Set(routes.map(({ template }) => template).filter((template) => !template.includes(":")))
  const others = new Map(
    routes.filter(({ template }) => template.includes(":")).map(({ path, template }) => [template, path])
  )
  return (path) => {
    const bare = path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path
    if (fixed.has(bare)) return bare
    for (const [template, pattern] of others) if (pattern.test(path)) return template
    return null
  }
}

/** The beginning that a wrong base URL puts before the path of an endpoint. */
const wrongBase = /^(?:\/(?:v1|openai|api)(?=\/))*/i

/**
 * The path of the second profile that serves what a request to a path without a route most likely means; null
 * if there is none, or if `/v1` has such an endpoint too.
 */
export const profilePathFor = (method: string, path: string, known: ReadonlyArray<Route>): string | null => {
  const rest = path.replace(wrongBase, "")
  const has = (prefix: string) =>
    known.some((one) => one.method === method && one.path.test(`${prefix}${rest}`))
  return has("/openai/v1") && !has("/v1") ? `/openai/v1${rest}` : null
}
