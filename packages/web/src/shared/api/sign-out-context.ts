import { createContext } from 'preact'

/** Ends the sign-in and shows its page; undefined where nobody is signed in. */
export const SignOutContext = createContext<(() => void) | undefined>(undefined)
