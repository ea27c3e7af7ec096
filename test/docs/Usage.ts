import { NodeServices } from "@effect/platform-node"
import { ConfigProvider, Effect } from "effect"
import { FetchHttpClient } from "effect/http"
import { runCli } from "../../src/cli/Commands.ts"
import { captured } from "../support/captured.ts"

const help = (words: ReadonlyArray<string>) =>
  captured(runCli([...words, "--help"])).pipe(
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env: {} })),
    Effect.provide(NodeServices.layer),
    Effect.provide(FetchHttpClient.layer)
  )

/**
 * Checks the words after `parley`, as documentation writes them (`key list EMAIL`), against the command
 * line's own help: whether there is such a command, and whether it knows each flag. Returns what is wrong, or
 * null.
 */
export const usageFault = Effect.fnUntraced(function* (usage: string) {
  if (/^(--(version|help)$|help\b)/.test(usage)) return null
  const words = /^[a-z][a-z-]*( [a-z][a-z-]*)*(?= |$)/.exec(usage)?.[0].split(" ") ?? []
  for (let length = words.length; length > 0; length--) {
    const path = words.slice(0, length)
    const { code, stdout } = yield* help(path)
    if (code !== 0 || !new RegExp(`\\bparley ${path.join(" ")}(?![\\w-])`).test(stdout)) continue
    const isGroup = new RegExp(`\\bparley ${path.join(" ")} (<subcommand>|COMMAND)`).test(stdout)
    if (isGroup && length < words.length) return `there is no command \`parley ${usage}\``
    const unknown = [...usage.matchAll(/(?<![\w-])--[a-z][a-z-]*/g)]
      .map(([flag]) => flag)
      .filter((flag) => !new RegExp(`${flag}(?![\\w-])`).test(stdout))
    return unknown.length === 0 ? null : `\`parley ${path.join(" ")}\` has no ${unknown.join(", ")}`
  }
  return `there is no command \`parley ${usage}\``
})
