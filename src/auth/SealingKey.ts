import { Context, type Redacted } from "effect"

/**
 * 32 secret bytes of the installation, the same in all of its processes and after a restart, for what clients
 * keep for the service.
 */
export class SealingKey extends Context.Service<SealingKey, Redacted.Redacted<Uint8Array>>()(
  "parley/auth/SealingKey"
) {}
