import { buildOnce } from "../support/ServiceProcess.ts"
import { skipReason } from "./Chromium.ts"

/** Builds what the browser tests start, unless it is built; without Chromium says that they are skipped. */
export default async () => {
  const reason = skipReason()
  if (reason === null) await buildOnce({ app: true })
  else process.stdout.write(`\nBrowser tests skipped: ${reason}\n`)
}
