import { Layer } from "effect"
import { Audit } from "../audit/Audit.ts"
import { Backups } from "../backup/Backups.ts"
import { Erasure } from "../erasure/Erasure.ts"
import { UserExport } from "../erasure/UserExport.ts"
import { layerRecordedStart } from "./InstallationFacts.ts"
import { Reload } from "./Reload.ts"
import { layerGivenKey } from "./Startup.ts"

/**
 * The audit log, backups, deletion and export of users' data, and changes of files that take effect without a
 * start.
 */
export const OperationsLayer = Layer.mergeAll(
  Backups.layer,
  Erasure.layer,
  UserExport.layer,
  Reload.layer
).pipe(Layer.provideMerge(Audit.layer))

/** The facts and the key that each start stores. A start that is refused stores neither. */
export const StartLayer = Layer.merge(layerRecordedStart, layerGivenKey)
