import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

/**
 * One thing out of a list, beside the list. The browser's own dialog keeps the keyboard inside, closes on Escape and
 * gives the focus back.
 */
export const Drawer = (props: {
  title: ComponentChildren
  /** Where the neighbours are, and the like. */
  tools?: ComponentChildren
  onClose: () => void
  children: ComponentChildren
}) => {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog
      ref={dialog}
      class="drawer"
      aria-labelledby="drawer-title"
      onClose={props.onClose}
      onClick={(event) => {
        // A click on the backdrop has the dialog itself as its target.
        if (event.target === dialog.current) dialog.current?.close()
      }}
    >
      <div class="drawer-body">
        <div class="drawer-head">
          <h2 id="drawer-title" tabIndex={-1} autofocus>
            {props.title}
          </h2>
          {props.tools}
          <button type="button" class="btn" onClick={() => dialog.current?.close()}>
            Close
          </button>
        </div>
        {props.children}
      </div>
    </dialog>
  )
}

/** After an action that removes the entry from the list: back to the list, which shows the result. */
export const closeDrawer = (href: string): void => {
  location.hash = href
  document.querySelector('main')?.focus()
}
