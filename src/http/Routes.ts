/** What machines ask again and again. */
export const probes: ReadonlySet<string | null> = new Set(["/healthz", "/readyz", "/metrics"])

/** A route as the interfaces declare it. */
export interface DeclaredRoute {
  /** With its parameters by name, such as `/v1/files/:file_id`. */
  readonly template: string
  readonly path: RegExp
}

/** Finds the template of a path, which many paths share and which holds nothing that a client chose; null for no route. */
export const makeTemplateOf = (routes: ReadonlyArray<DeclaredRoute>): ((path: string) => string | null) => {
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
