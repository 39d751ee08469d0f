import { useState } from 'preact/hooks'

/** Opens one entry by its id, or searches for a text. An emptied field ends the search of `initial`. */
export const FindForm = (props: {
  label: string
  placeholder: string
  initial?: string
  onFind: (text: string) => void
}) => {
  const { initial = '' } = props
  const [text, setText] = useState(initial)
  return (
    <form
      class="find"
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        if (text.trim() !== initial) props.onFind(text.trim())
      }}
    >
      <label class="small" for="find">
        {props.label}
      </label>
      <div>
        <input
          id="find"
          maxLength={128}
          autocomplete="off"
          spellcheck={false}
          placeholder={props.placeholder}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <button class="btn" type="submit">
          Find
        </button>
      </div>
    </form>
  )
}
