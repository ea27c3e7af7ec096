import { othersMax } from "./quiet.ts"
import { median } from "./statistics.ts"

/** From what several processes on one database did to the table that says where more of them stop to help. */

/** One load on so many processes, once. Processor times and counts are of the whole load. */
export interface ScaleSample {
  readonly answers: number
  readonly seconds: number
  readonly serviceCpuSeconds: number
  readonly databaseCpuSeconds: number
  /** The balancer, the mock model server and the load generator. */
  readonly loadCpuSeconds: number
  readonly statements: number
  /** BEGIN and COMMIT, which are among the statements. */
  readonly transactionStatements: number
  readonly walBytes: number
  readonly databaseBytes: number
  /** Processors that others kept busy. */
  readonly others: number
}

export interface ScaleLine {
  readonly processes: number
  readonly answersPerSecond: number
  readonly perProcess: number
  /** Milliseconds of processor time per answer. */
  readonly serviceMs: number
  readonly databaseMs: number
  readonly loadMs: number
  readonly statements: number
  readonly transactionStatements: number
  readonly walBytes: number
  readonly databaseBytes: number
  /** Processors busy: a process of the service, and everything together. */
  readonly processBusy: number
  readonly machineBusy: number
  readonly others: number
  readonly limit: "process" | "processors" | "waiting"
}

/** Above that share of one processor, a process of the service can't do more: its JavaScript runs on one thread. */
const processBusyMin = 0.85
/** Above that share of all processors, the machine can't do more. */
const machineBusyMin = 0.85

export const lineOf = (
  processes: number,
  processors: number,
  samples: ReadonlyArray<ScaleSample>
): ScaleLine => {
  // What others disturbed counts only where everything was.
  const quiet = samples.filter((sample) => sample.others <= othersMax)
  const counted = quiet.length > 0 ? quiet : samples
  const of = (value: (sample: ScaleSample) => number) => median(counted.map(value))
  const perAnswer = (figure: keyof ScaleSample) => of((sample) => sample[figure] / sample.answers)
  const spent = (one: ScaleSample) => one.serviceCpuSeconds + one.databaseCpuSeconds + one.loadCpuSeconds
  const others = of((sample) => sample.others)
  const answersPerSecond = of(({ answers, seconds }) => answers / seconds)
  const processBusy = of((sample) => sample.serviceCpuSeconds / sample.seconds) / processes
  const machineBusy = of((sample) => spent(sample) / sample.seconds)
  const isMachineFull = machineBusy + others >= machineBusyMin * processors
  return {
    processes,
    answersPerSecond,
    perProcess: answersPerSecond / processes,
    serviceMs: perAnswer("serviceCpuSeconds") * 1000,
    databaseMs: perAnswer("databaseCpuSeconds") * 1000,
    loadMs: perAnswer("loadCpuSeconds") * 1000,
    statements: perAnswer("statements"),
    transactionStatements: perAnswer("transactionStatements"),
    walBytes: perAnswer("walBytes"),
    databaseBytes: perAnswer("databaseBytes"),
    processBusy,
    machineBusy,
    others,
    limit: isMachineFull ? "processors" : processBusy >= processBusyMin ? "process" : "waiting"
  }
}

/** Below that share of what one process answers alone, the line has bent. */
const straightMin = 0.9

/** The first count of processes whose answers per process are clearly fewer than those of one; null for a straight line. */
export const bend = (lines: ReadonlyArray<ScaleLine>): ScaleLine | null => {
  const [first] = lines
  if (first === undefined) return null
  return lines.find(({ perProcess }) => perProcess < first.perProcess * straightMin) ?? null
}

const limits: Readonly<Record<ScaleLine["limit"], string>> = {
  process: "its one thread",
  processors: "the processors of the machine",
  waiting: "waiting: commits, locks, the load"
}

const head = [
  "processes",
  "answers/s",
  "per process",
  "CPU: service",
  "database",
  "load",
  "statements",
  "BEGIN, COMMIT",
  "WAL KiB",
  "stored KiB",
  "busy: process",
  "machine",
  "others",
  "limit"
]

const kibibyte = 1024

export const scaleTable = (title: string, lines: ReadonlyArray<ScaleLine>): string => {
  const cells = lines.map((line) => [
    String(line.processes),
    line.answersPerSecond.toFixed(0),
    line.perProcess.toFixed(0),
    line.serviceMs.toFixed(2),
    line.databaseMs.toFixed(2),
    line.loadMs.toFixed(2),
    line.statements.toFixed(1),
    line.transactionStatements.toFixed(1),
    (line.walBytes / kibibyte).toFixed(1),
    (line.databaseBytes / kibibyte).toFixed(1),
    line.processBusy.toFixed(2),
    line.machineBusy.toFixed(2),
    line.others.toFixed(2),
    limits[line.limit]
  ])
  const widths = head.map((name, n) => Math.max(name.length, ...cells.map((row) => row[n]?.length ?? 0)))
  const rows = [head, ...cells].map((row) => row.map((cell, n) => cell.padStart(widths[n] ?? 0)).join("  "))
  return [title, ...rows, bendText(lines)].join("\n")
}

const bendText = (lines: ReadonlyArray<ScaleLine>): string => {
  const [first, last] = [lines[0], lines.at(-1)]
  if (first === undefined || last === undefined) return ""
  const bent = bend(lines)
  const cost = (line: ScaleLine) => line.serviceMs + line.databaseMs
  const growth = ((cost(last) / cost(first) - 1) * 100).toFixed(0)
  const where =
    bent === null ? "The line is straight" : `The line bends at ${bent.processes}, by ${limits[bent.limit]}`
  return (
    `${where}. With ${last.processes}, an answer costs ${growth} % more processor time of service and database than with ` +
    `${first.processes}. Processors allowing, a process answers ${(1000 / first.serviceMs).toFixed(0)}/s.`
  )
}
