import { TextField } from './fields.tsx'

/** Why an operator acts. The audit log keeps it. */
export const ReasonField = (props: { id: string; value: string; onValue: (value: string) => void }) => (
  <TextField
    id={props.id}
    label="Reason"
    hint="for the audit log"
    maxLength={500}
    value={props.value}
    onValue={props.onValue}
  />
)
