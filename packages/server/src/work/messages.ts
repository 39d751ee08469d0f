import type { Language } from '../members/index.ts'

type ShellMessages = {
  readonly title: string
  readonly needsScript: string
  readonly link: {
    readonly title: string
    readonly gone: string
    readonly host: string
    readonly address: string
    readonly seen: string
    readonly notSeen: string
    readonly advice: string
    readonly open: string
  }
}

/** The text of the worker's pages before their script runs, and of the page before a link; all other text is in the script. */
export const shellMessages: Readonly<Record<Language, ShellMessages>> = {
  en: {
    title: 'Work',
    needsScript: 'This page needs JavaScript: it records the work in your browser, and only while you work.',
    link: {
      title: 'You are leaving this service',
      gone: 'There is no such link. Sign in and open it from your task.',
      host: 'This link was given by the buyer. It leads to',
      address: 'The whole address:',
      seen: 'If you open it, that site sees your network address and your browser, as every site does that you visit.',
      notSeen: 'It does not see this page or your task, unless the address itself names them.',
      advice: 'Enter no password and nothing about yourself. You can return the task instead.',
      open: 'Open it',
    },
  },
  de: {
    title: 'Arbeit',
    needsScript:
      'Diese Seite braucht JavaScript: Sie zeichnet die Arbeit in Ihrem Browser auf, und nur solange Sie arbeiten.',
    link: {
      title: 'Sie verlassen diesen Dienst',
      gone: 'Diesen Link gibt es nicht. Melden Sie sich an und öffnen Sie ihn aus Ihrer Aufgabe.',
      host: 'Dieser Link stammt vom Käufer. Er führt zu',
      address: 'Die ganze Adresse:',
      seen: 'Wenn Sie ihn öffnen, sieht jene Seite Ihre Netzadresse und Ihren Browser, wie jede Seite, die Sie besuchen.',
      notSeen: 'Sie sieht weder diese Seite noch Ihre Aufgabe, es sei denn, die Adresse selbst nennt sie.',
      advice: 'Geben Sie kein Passwort ein und nichts über sich. Sie können die Aufgabe auch zurückgeben.',
      open: 'Öffnen',
    },
  },
}
