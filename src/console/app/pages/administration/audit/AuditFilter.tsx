import { auditTextCharactersMax } from "../../../../../admin/AuditApi.ts"
import { AuditAction, AuditTarget } from "../../../../../domain/AuditEntry.ts"
import { Button } from "../../../ui/Button.tsx"
import { Form, FormActions } from "../../../ui/Form.tsx"
import { Select } from "../../../ui/Select.tsx"
import { TextField } from "../../../ui/TextField.tsx"
import { targetNames } from "./entryText.ts"
import { actionText } from "./filter.ts"
import { type AuditSearch, auditSearch } from "./filterNames.ts"

const all = { value: "", label: "All" }
const actionChoices = [
  all,
  ...AuditAction.literals.map((action) => ({ value: action, label: `${action} – ${actionText(action)}` }))
]
const targetChoices = [
  all,
  ...AuditTarget.literals.map((target) => ({ value: target, label: targetNames[target] }))
]

interface AuditFilterProps {
  readonly search: AuditSearch
  readonly onFilter: (search: AuditSearch) => void
  /** True if the user sees the entries of more than one organization. */
  readonly hasOrganizations: boolean
  readonly failure: unknown
}

interface TextProps {
  readonly name: keyof AuditSearch
  readonly label: string
  readonly description?: string
  readonly type?: string
  readonly search: AuditSearch
}

const Text = ({ description, label, name, search, type }: TextProps) => (
  <TextField
    defaultValue={search[name] ?? ""}
    description={description}
    label={label}
    maxLength={auditTextCharactersMax}
    name={name}
    spellCheck={false}
    {...(type === undefined ? {} : { type })}
  />
)

export const AuditFilter = ({ failure, hasOrganizations, onFilter, search }: AuditFilterProps) => (
  <Form failure={failure} onSubmit={(values) => onFilter(auditSearch(values))}>
    <div className="grid gap-5 sm:grid-cols-2 lg:grid-cols-3">
      <Text description="An e-mail address, operator or system." label="Who" name="actor" search={search} />
      <Select choices={actionChoices} defaultValue={search.action ?? ""} label="Action" name="action" />
      {hasOrganizations ? <Text label="Organization" name="organization" search={search} /> : null}
      <Select
        choices={targetChoices}
        defaultValue={search.target_type ?? ""}
        label="About"
        name="target_type"
      />
      <Text label="Id of what it is about" name="target_id" search={search} />
      <Text label="From" description="The first day, in UTC." name="since" search={search} type="date" />
      <Text label="To" description="The last day, in UTC." name="until" search={search} type="date" />
    </div>
    <FormActions>
      <Button kind="primary" type="submit">
        Filter
      </Button>
      <Button disabled={Object.keys(search).length === 0} onClick={() => onFilter({})}>
        Show all
      </Button>
    </FormActions>
  </Form>
)
