import { createRequire, findPackageJSON } from "node:module"
import { dirname, join, resolve } from "node:path"
import { setImmediate } from "node:timers/promises"
import { pathToFileURL } from "node:url"
import { Context, Effect, Predicate } from "effect"

const packageName = /^((?:@[a-z0-9~-][\w.~-]*\/)?[a-z0-9~-][\w.~-]*)((?:\/[\w~-][\w.~-]*)*)$/

/** True for the name of a package, or of a part of one such as `@ai-sdk/google-vertex/anthropic`. */
export const isPackageName = (text: string): boolean => packageName.test(text)

/** A folder, relative to the file that names it. */
interface PackagePlace {
  readonly file: string
  readonly folder: string
}

const directoryOf = ({ file, folder }: PackagePlace): string => resolve(dirname(file), folder)

/** The command that installs a package there. */
export const installCommand = (name: string, place: PackagePlace): string =>
  `npm install --prefix ${directoryOf(place)} ${packageName.exec(name)?.[1] ?? name}`

/**
 * Is run before a package is imported: from then on, code that isn't the service's own runs within the
 * process.
 */
export const BeforeImport = Context.Reference<Effect.Effect<void>>("parley/settings/BeforeImport", {
  defaultValue: () => Effect.void
})

/**
 * Gives the event loop a turn: a package may have the next piece of an answer at once, and again and again.
 */
export const nextTurn = (): Promise<void> => setImmediate()

/** The reason why a package can't be loaded, in words for people that follow its name. */
export interface ImportProblem {
  readonly message: string
  readonly isInstalled: boolean
}

/** A package may begin with requests or wait for others, but the start must not wait for ever. */
const importSeconds = 30

/**
 * Imports a package that the operator has installed; nothing is downloaded. Node looks for it as for an
 * import in the folder: in `node_modules` there, and in the folders above. The message of an error may be the
 * package's own.
 */
export const importPackage = Effect.fnUntraced(function* (
  name: string,
  place: PackagePlace
): Effect.fn.Return<unknown, ImportProblem> {
  const from = directoryOf(place)
  const path = yield* Effect.try({
    try: () => resolveIn(join(from, "package.json"), name),
    catch: (error): ImportProblem =>
      hasCode(error, "MODULE_NOT_FOUND")
        ? { isInstalled: false, message: `is not installed in ${from}` }
        : { isInstalled: true, message: `can't be found in ${from}: ${messageOf(error)}` }
  })
  yield* yield* BeforeImport
  return yield* Effect.tryPromise({
    try: async (): Promise<unknown> => import(pathToFileURL(path).href),
    catch: (error): ImportProblem => ({
      isInstalled: true,
      message: `can't be loaded from ${from}: ${messageOf(error)}`
    })
  }).pipe(
    Effect.timeoutOrElse({
      duration: `${importSeconds} seconds`,
      orElse: () =>
        Effect.fail<ImportProblem>({
          isInstalled: true,
          message: `can't be loaded from ${from}: it isn't there after ${importSeconds} seconds`
        })
    })
  )
})

/**
 * The file of a package. Node resolves names for `require` here, and leaves out what is only for `import`.
 */
const resolveIn = (file: string, name: string): string => {
  const require = createRequire(file)
  try {
    return require.resolve(name)
  } catch (error) {
    const manifest = hasCode(error, "ERR_PACKAGE_PATH_NOT_EXPORTED")
      ? findPackageJSON(name, pathToFileURL(file))
      : undefined
    const target = manifest === undefined ? null : importedFile(require(manifest), subpathOf(name))
    if (manifest === undefined || target === null) throw error
    return join(dirname(manifest), target)
  }
}

const subpathOf = (name: string): string => `.${packageName.exec(name)?.[2] ?? ""}`

/** The conditions of `import`. Source: Node's documentation of packages, "Conditional exports". */
const conditions: ReadonlySet<string> = new Set(["node", "import", "module-sync", "default"])

const importedFile = (manifest: unknown, subpath: string): string | null => {
  const exported = Predicate.hasProperty(manifest, "exports") ? manifest.exports : null
  const hasSubpaths = Predicate.isObject(exported) && Object.keys(exported).some((key) => key.startsWith("."))
  if (hasSubpaths) return targetOf(exported[subpath])
  return subpath === "." ? targetOf(exported) : null
}

/** The file of the first condition that holds. */
const targetOf = (target: unknown): string | null => {
  if (Predicate.isString(target)) return target
  if (!Predicate.isObject(target)) return null
  const held = Object.entries(target).filter(([condition]) => conditions.has(condition))
  return held.map(([, inner]) => targetOf(inner)).find(Predicate.isNotNull) ?? null
}

const messageCharactersMax = 300

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && "code" in error && error.code === code

/** A package may throw anything. */
const messageOf = (error: unknown): string => {
  try {
    const message = error instanceof Error ? error.message : String(error)
    return message.replaceAll(/\s+/g, " ").slice(0, messageCharactersMax)
  } catch {
    return "an error that can't be read"
  }
}
