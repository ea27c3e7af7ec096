import { createRequire } from "node:module"
import { dirname, join, resolve } from "node:path"
import { setImmediate } from "node:timers/promises"
import { pathToFileURL } from "node:url"
import { Context, Effect } from "effect"

const packageName = /^((?:@[a-z0-9~-][\w.~-]*\/)?[a-z0-9~-][\w.~-]*)((?:\/[\w~-][\w.~-]*)*)$/

/** Whether a text is the name of a package, or of a part of one such as `@ai-sdk/google-vertex/anthropic`. */
export const isPackageName = (text: string): boolean => packageName.test(text)

/** A folder, relative to the file that names it. */
export interface PackagePlace {
  readonly file: string
  readonly folder: string
}

const directoryOf = ({ file, folder }: PackagePlace): string => resolve(dirname(file), folder)

/** What an operator runs to install a package there. */
export const installCommand = (name: string, place: PackagePlace): string =>
  `npm install --prefix ${directoryOf(place)} ${packageName.exec(name)?.[1] ?? name}`

/** Is run before a package is imported: from then on, code that isn't the service's own runs within the process. */
export const BeforeImport = Context.Reference<Effect.Effect<void>>("parley/settings/BeforeImport", {
  defaultValue: () => Effect.void
})

/** Gives the event loop a turn: a package may have the next piece of an answer at once, and again and again. */
export const nextTurn = (): Promise<void> => setImmediate()

/**
 * What a package exports that the operator has installed; nothing is downloaded. Node looks for it as for an import in the folder: in
 * `node_modules` there, and in the folders above. Fails with words for people that follow its name.
 */
export const importPackage = Effect.fnUntraced(function* (
  name: string,
  place: PackagePlace
): Effect.fn.Return<unknown, string> {
  const from = directoryOf(place)
  const path = yield* Effect.try({
    try: () => createRequire(join(from, "package.json")).resolve(name),
    catch: (error) =>
      hasCode(error, "MODULE_NOT_FOUND")
        ? `is not installed in ${from}`
        : `can't be found in ${from}: ${messageOf(error)}`
  })
  yield* yield* BeforeImport
  return yield* Effect.tryPromise({
    try: async (): Promise<unknown> => import(pathToFileURL(path).href),
    catch: (error) => `can't be loaded from ${from}: ${messageOf(error)}`
  })
})

const messageCharactersMax = 300

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && "code" in error && error.code === code

const messageOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error))
    .replaceAll(/\s+/g, " ")
    .slice(0, messageCharactersMax)
