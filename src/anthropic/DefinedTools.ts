import type { DefinedTool } from "../api/anthropic/MessagesBody.ts"
import type { ToolSpec } from "../domain/ModelCall.ts"

/**
 * The tools that Anthropic defines and clients run: its own models know them by their type, and others need a
 * description.
 */

type Definition = Pick<ToolSpec, "name" | "description" | "parameters">

const text = (description: string) => ({ type: "string", description })
const integer = (description: string) => ({ type: "integer", description })

const viewRange = {
  type: "array",
  items: { type: "integer" },
  description: "With `view`: the first and the last line to show, from 1; -1 as the last one means the end."
}

const bash: Definition = {
  name: "bash",
  description:
    "Runs a command in a bash shell of the user's computer, which stays open between calls, and returns what it prints.",
  parameters: {
    type: "object",
    properties: {
      command: text("The command. Required unless the shell is restarted."),
      restart: { type: "boolean", description: "True restarts the shell." }
    }
  }
}

const editing = {
  file_text: text("With `create`: the content of the new file."),
  old_str: text("With `str_replace`: the text to replace, which must occur exactly once."),
  new_str: text("With `str_replace`: the text in its place; absent to delete it."),
  insert_line: integer("With `insert`: the line behind which the text is inserted; 0 for the beginning."),
  insert_text: text("With `insert`: the text."),
  view_range: viewRange
}

const editor = (name: string, commands: ReadonlyArray<string>): Definition => ({
  name,
  description: "Views, creates and edits text files of the user's computer.",
  parameters: {
    type: "object",
    properties: {
      command: { type: "string", enum: commands },
      path: text("The absolute path of the file, or of a directory to view."),
      ...editing
    },
    required: ["command", "path"]
  }
})

const edits = ["view", "create", "str_replace", "insert"]

const memory: Definition = {
  name: "memory",
  description:
    "Keeps notes between conversations, as files below the directory /memories. View that directory before you begin, " +
    "and write down what will be needed later.",
  parameters: {
    type: "object",
    properties: {
      command: { type: "string", enum: [...edits, "delete", "rename"] },
      path: text("The path of the file or directory, below /memories."),
      ...editing,
      old_path: text("With `rename`: the present path."),
      new_path: text("With `rename`: the new path.")
    },
    required: ["command"]
  }
}

const definitions: ReadonlyArray<readonly [type: RegExp, definition: Definition]> = [
  [/^bash_\d+$/, bash],
  [/^text_editor_(20241022|20250124)$/, editor("str_replace_editor", [...edits, "undo_edit"])],
  [/^text_editor_\d+$/, editor("str_replace_based_edit_tool", edits)],
  [/^memory_\d+$/, memory]
]

/** The function that stands for a tool; null where there is none. */
export const functionFor = ({ name, type }: DefinedTool): Definition | null => {
  const definition = definitions.find(([pattern]) => pattern.test(type))?.[1]
  return definition === undefined ? null : { ...definition, name: name ?? definition.name }
}
