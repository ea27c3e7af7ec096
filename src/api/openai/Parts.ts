import { Schema } from "effect"
import { FileId } from "../../domain/Ids.ts"
import { imageDetails } from "../../domain/ModelCall.ts"
import { StorableText } from "../../domain/StorableText.ts"
import { Label, maybe } from "./Fields.ts"
import { givenId } from "./ProfileIds.ts"

/** The parts of messages and of results. */

/** The detail says how closely a model is to look; `original` is as close as it can. */
export const Detail = Schema.Literals([...imageDetails, "original"]).annotate({
  expected: "auto, low, high or original"
})

const InputText = Schema.Struct({ type: Schema.Literal("input_text"), text: StorableText })

/** Nothing of it is stored as text, and its length is that of the body at most. */
const Address = Schema.String.check(Schema.isMinLength(1, { expected: "a string that is not empty" }))

export const InputImage = Schema.Struct({
  type: Schema.Literal("input_image"),
  image_url: maybe(Address),
  file_id: maybe(givenId(FileId, "file")),
  detail: maybe(Detail)
}).check(
  Schema.makeFilter(({ file_id, image_url }) => (file_id == null) !== (image_url == null), {
    expected: "an image with either an `image_url` or a `file_id`"
  })
)

export const InputFile = Schema.Struct({
  type: Schema.Literal("input_file"),
  file_id: maybe(givenId(FileId, "file")),
  filename: maybe(Label),
  file_data: maybe(Address),
  file_url: maybe(Address)
}).check(
  Schema.makeFilter(
    ({ file_data, file_id, file_url }) =>
      [file_data, file_id, file_url].filter((given) => given != null).length === 1,
    { expected: "a file with one of `file_id`, `file_data` and `file_url`" }
  )
)

const OutputText = Schema.Struct({ type: Schema.Literal("output_text"), text: StorableText })

const Refusal = Schema.Struct({ type: Schema.Literal("refusal"), refusal: StorableText })

export const Part = Schema.Union([InputText, InputImage, InputFile, OutputText, Refusal]).annotate({
  expected: "an input_text, input_image, input_file, output_text or refusal part"
})
export type Part = typeof Part.Type
export const partTypes = ["input_text", "input_image", "input_file", "output_text", "refusal"] as const
