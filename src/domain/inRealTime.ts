import { Clock, Effect } from "effect"

/** Runs an effect by the real clock: a server lives in real time, also where a test moves the clock of everything else. */
export const inRealTime = Effect.provideService(Clock.Clock, Clock.Clock.defaultValue())
