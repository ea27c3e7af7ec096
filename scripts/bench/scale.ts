import { mkdtempSync, writeFileSync } from "node:fs"
import { availableParallelism } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import { Client } from "pg"
import type { Load } from "./exchange.ts"
import type { Started } from "./fleet.ts"
import { loadOf } from "./load.ts"
import { cpuSecondsBelow } from "./procfs.ts"
import { onDatabase, parleyRecipe } from "./recipes.ts"
import { asProgram, note, program, type Rig, say, startListener, withRig } from "./rig.ts"
import { type ScaleSample, scaleTable } from "./scaleReport.ts"
import { Server } from "./server.ts"

/**
 * Measures the answers of 1, 2 and 4 processes of the service on one PostgreSQL, behind a balancer, all on
 * this machine.
 *
 *     npm run bench -- scale [--quick] [--out FILE]
 */

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    /** Writes all samples as JSON. */
    out: { type: "string" }
  }
})

const counts = [1, 2, 4]
const processesMax = Math.max(...counts)
const runs = values.quick ? 1 : 3
const windowSeconds = values.quick ? 3 : 4
const quietSecondsMax = 2
/** At a time; the same for every count, and enough for the largest. */
const connections = 32
const warmUpAnswers = 3_000
const paceAnswers = 600
/** Time for the work that the service puts off until after an answer. */
const settleMs = 500
/** The connections that one process has by default, and the one that counts. */
const databaseConnections = 10 * processesMax + 1

interface Bench extends Rig {
  readonly servers: ReadonlyArray<Server>
  readonly balancer: { readonly port: number; readonly started: Started }
  readonly database: Started
  readonly client: Client
}

const startDatabase = async ({ directory, fleet }: Rig) => {
  const args = [
    program("scaleDatabase.ts"),
    mkdtempSync(join(directory, "database-")),
    String(databaseConnections)
  ]
  const database = fleet.start("database", args, "all")
  const { host } = await fleet.message<{ readonly host: string }>(database)
  const client = new Client({ host, user: "parley", database: "postgres" })
  // When the benchmark is stopped, the database goes before this connection does.
  client.on("error", () => {})
  await client.connect()
  return { database, client, host }
}

/** One after the other: the first one applies the migrations and creates the key, which all have. */
const startServers = async (rig: Rig, host: string): Promise<ReadonlyArray<Server>> => {
  const recipe = parleyRecipe(rig)
  const servers: Array<Server> = []
  for (let n = 1; n <= processesMax; n++) {
    const ofDatabase = onDatabase(host, mkdtempSync(join(rig.directory, "service-")))
    const environment = { ...recipe.environment, ...ofDatabase }
    servers.push(await new Server(rig.fleet, { ...recipe, name: `parley-${n}`, environment }).start())
  }
  return servers
}

type DatabaseCounts = Pick<ScaleSample, "statements" | "transactionStatements" | "walBytes" | "databaseBytes">

const databaseCounts = async ({ client }: Bench): Promise<DatabaseCounts> => {
  const { rows } = await client.query<DatabaseCounts>(`
    SELECT coalesce(sum(calls), 0)::float8 AS statements,
      coalesce(sum(calls) FILTER (WHERE query ~* '^(BEGIN|COMMIT|ROLLBACK|START)'), 0)::float8 AS "transactionStatements",
      pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 AS "walBytes",
      pg_database_size(current_database())::float8 AS "databaseBytes"
    FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat_statements%'`)
  const [row] = rows
  if (row === undefined) throw new Error("the database answered nothing")
  return row
}

const cpuTimes = ({ database, fleet, servers }: Bench) => ({
  all: fleet.cpuSeconds(),
  service: servers.reduce((sum, server) => sum + server.meters().cpuSeconds, 0),
  database: cpuSecondsBelow(database.pid)
})

/** The next connections go to these servers alone. */
const balanceOver = async ({ balancer, fleet }: Bench, servers: ReadonlyArray<Server>): Promise<void> => {
  const done = fleet.message(balancer.started)
  balancer.started.child.send(servers.map(({ port }) => port))
  await done
}

const sample = async (bench: Bench, load: Load, processes: number): Promise<ScaleSample> => {
  const { client, fleet, loader, servers } = bench
  await balanceOver(bench, servers.slice(0, processes))
  const pace = await loader.run(load, connections, paceAnswers)
  await fleet.untilQuiet(quietSecondsMax)
  await client.query("SELECT pg_stat_statements_reset()")
  const begun = await databaseCounts(bench)
  const [before, watched] = [cpuTimes(bench), fleet.watchOthers()]
  const total = Math.ceil((pace.whole / pace.seconds) * windowSeconds)
  const { seconds, whole } = await loader.run(load, connections, total)
  const others = watched()
  await sleep(settleMs)
  const after = cpuTimes(bench)
  const ended = await databaseCounts(bench)
  const service = after.service - before.service
  const database = after.database - before.database
  return {
    answers: whole,
    seconds,
    serviceCpuSeconds: service,
    databaseCpuSeconds: database,
    loadCpuSeconds: after.all - before.all - service - database,
    ...ended,
    walBytes: ended.walBytes - begun.walBytes,
    databaseBytes: ended.databaseBytes - begun.databaseBytes,
    others
  }
}

/** A connection that is idle reports what it wrote ten seconds later. */
const statisticsSeconds = 11

/** Reports the rows that an answer writes, over the whole run: each one is a turn. */
const sayRows = async ({ client }: Bench): Promise<void> => {
  await sleep(statisticsSeconds * 1000)
  const rows = await client.query<{ name: string; inserted: number; updated: number; deleted: number }>(
    `WITH answers AS (SELECT count(*)::float8 AS n FROM turns)
     SELECT relname AS name, n_tup_ins / n AS inserted, n_tup_upd / n AS updated, n_tup_del / n AS deleted
     FROM pg_stat_user_tables, answers WHERE n_tup_ins + n_tup_upd + n_tup_del > n / 20 ORDER BY relname`
  )
  say("Rows per answer, inserted, updated, deleted:")
  for (const { deleted, inserted, name, updated } of rows.rows) {
    const cells = [inserted, updated, deleted].map((count) => count.toFixed(2).padStart(6))
    say(`  ${name.padEnd(32)} ${cells.join(" ")}`)
  }
}

const measureKind = async (bench: Bench, kind: string, load: Load) => {
  await balanceOver(bench, bench.servers)
  await bench.loader.run(load, connections, warmUpAnswers)
  const lines = counts.map((processes) => ({ processes, samples: [] as Array<ScaleSample> }))
  for (let run = 0; run < runs; run++) {
    // In turn, so that what disturbs the machine disturbs all.
    for (const { processes, samples } of lines) {
      const one = await sample(bench, load, processes)
      samples.push(one)
      note(
        `${kind}, ${processes}: ${(one.answers / one.seconds).toFixed(0)}/s, others ${one.others.toFixed(2)}`
      )
    }
  }
  const processors = availableParallelism()
  say(`${kind}, ${connections} at a time, on ${processors} processors\n${scaleTable(lines, processors)}\n`)
  return { kind, lines }
}

const measure = async (rig: Rig): Promise<boolean> => {
  const { client, database, host } = await startDatabase(rig)
  try {
    const servers = await startServers(rig, host)
    const balancer = await startListener(rig.fleet, "balancer.ts")
    const bench: Bench = { ...rig, servers, balancer, database, client }
    const balanced = { key: servers[0]?.key ?? null, port: balancer.port }
    const all = [
      await measureKind(bench, "streams of 100 deltas", loadOf(balanced, { tokens: 100 })),
      await measureKind(bench, "JSON answers of 100 tokens", loadOf(balanced, { tokens: 100 }, false))
    ]
    if (values.out !== undefined) writeFileSync(values.out, `${JSON.stringify(all, null, 2)}\n`)
    await sayRows(bench)
  } finally {
    await client.end()
  }
  return true
}

await asProgram(() => withRig({ pins: false }, measure))
