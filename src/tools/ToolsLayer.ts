import { Layer } from "effect"
import { TextExtraction } from "../documents/TextExtraction.ts"
import { Egress } from "./Egress.ts"
import { Network } from "./egress/Network.ts"
import { BuiltinToolsLayer } from "./Toolkit.ts"
import { SearchProbe } from "./WebSearch.ts"

/** The tools that models may call, and their way out to the web. */
export const ToolsLayer = Layer.merge(BuiltinToolsLayer, SearchProbe.layer).pipe(
  Layer.provideMerge(Egress.layer.pipe(Layer.provide(Network.layer))),
  Layer.provide(TextExtraction.layer)
)
