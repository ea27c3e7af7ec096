import { Option } from "effect"
import { accessSync, constants, existsSync, statfsSync, statSync } from "node:fs"
import { dirname, resolve } from "node:path"
import type { Rule } from "./Setting.ts"

/** A path may be relative to the current directory; its value never is. */
export const path: Rule<string> = {
  allowed: "a path",
  read: (text) => (text.includes("\0") ? Option.none() : Option.some(resolve(text)))
}

/** File systems of the kernel, in which no directory can be made: proc and sysfs. Source: Linux, statfs(2). */
const kernelFileSystems: ReadonlyArray<number> = [0x9fa0, 0x62656572]

/** A directory, or a place where one could be made, found out without making it. */
export const directory: Rule<string> = {
  allowed: "a directory, or a path at which one can be made: no file, and nothing in /proc or /sys",
  read: (text) =>
    Option.filter(path.read(text), (wanted) => {
      let nearest = wanted
      while (!existsSync(nearest) && dirname(nearest) !== nearest) nearest = dirname(nearest)
      return statSync(nearest).isDirectory() && !kernelFileSystems.includes(statfsSync(nearest).type)
    })
}

export const readableFile: Rule<string> = {
  allowed: "the path of a file that can be read",
  read: Option.liftThrowable((text) => {
    accessSync(resolve(text), constants.R_OK)
    return resolve(text)
  })
}
