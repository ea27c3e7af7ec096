import { othersMax } from "./fleet.ts"
import { type Column, textTable } from "./report.ts"
import { median } from "./statistics.ts"

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
  /** Processors that other work kept busy. */
  readonly others: number
}

export interface ScaleLine {
  readonly processes: number
  readonly samples: ReadonlyArray<ScaleSample>
}

/** The median. Samples that other work disturbed count only where all are disturbed. */
const medianOf = ({ samples }: ScaleLine, value: (sample: ScaleSample) => number): number => {
  const quiet = samples.filter(({ others }) => others <= othersMax)
  return median((quiet.length > 0 ? quiet : samples).map(value))
}

const answersPerSecond = ({ answers, seconds }: ScaleSample) => answers / seconds
const serviceBusy = ({ seconds, serviceCpuSeconds }: ScaleSample) => serviceCpuSeconds / seconds
const machineBusy = (sample: ScaleSample) =>
  (sample.serviceCpuSeconds + sample.databaseCpuSeconds + sample.loadCpuSeconds) / sample.seconds

/**
 * Above that share of one processor, a process of the service can't do more: its JavaScript runs on one
 * thread.
 */
const processBusyMin = 0.85
/** Above that share of all processors, the machine can't do more. */
const machineBusyMin = 0.85

/** The limit that keeps the line from more answers per second. */
export const limitOf = (line: ScaleLine, processors: number): string => {
  const busy = medianOf(line, machineBusy) + medianOf(line, ({ others }) => others)
  if (busy >= machineBusyMin * processors) return "the processors of the machine"
  const isThreadFull = medianOf(line, serviceBusy) / line.processes >= processBusyMin
  return isThreadFull ? "its one thread" : "waiting: commits, locks, the load"
}

export const scaleTable = (lines: ReadonlyArray<ScaleLine>, processors: number): string => {
  const figure = (value: (sample: ScaleSample) => number, digits: number) => (line: ScaleLine) =>
    medianOf(line, value).toFixed(digits)
  const perProcess = (value: (sample: ScaleSample) => number, digits: number) => (line: ScaleLine) =>
    (medianOf(line, value) / line.processes).toFixed(digits)
  const perAnswer = (key: keyof ScaleSample, factor: number, digits: number) =>
    figure((sample) => (sample[key] / sample.answers) * factor, digits)
  const columns: ReadonlyArray<Column<ScaleLine>> = [
    ["processes", ({ processes }) => String(processes)],
    ["answers/s", figure(answersPerSecond, 0)],
    ["per process", perProcess(answersPerSecond, 0)],
    ["CPU ms: service", perAnswer("serviceCpuSeconds", 1000, 2)],
    ["database", perAnswer("databaseCpuSeconds", 1000, 2)],
    ["load", perAnswer("loadCpuSeconds", 1000, 2)],
    ["statements", perAnswer("statements", 1, 1)],
    ["BEGIN, COMMIT", perAnswer("transactionStatements", 1, 1)],
    ["WAL KiB", perAnswer("walBytes", 1 / 1024, 1)],
    ["stored KiB", perAnswer("databaseBytes", 1 / 1024, 1)],
    ["busy: process", perProcess(serviceBusy, 2)],
    ["machine", figure(machineBusy, 2)],
    ["others", figure(({ others }) => others, 2)],
    ["limit", (line) => limitOf(line, processors)]
  ]
  return textTable(columns, lines)
}
