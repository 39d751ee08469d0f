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
      gone: 'There is no such link. Sign in, and open the link from your task.',
      host: 'The buyer gave you this link. It leads to',
      address: 'The full address:',
      seen: 'If you open it, that site sees your network address and your browser, as every site that you visit does.',
      notSeen: 'It does not see this page or your task, unless the address itself names them.',
      advice: 'Enter no password and nothing about yourself. You can return the task instead.',
      open: 'Open it',
    },
  },
  de: {
    title: 'Aufgaben',
    needsScript:
      'Diese Seite braucht JavaScript: Sie zeichnet Ihre Arbeit im Browser auf, und nur solange Sie arbeiten.',
    link: {
      title: 'Sie verlassen diesen Dienst',
      gone: 'Diesen Link gibt es nicht. Melden Sie sich an, und öffnen Sie ihn aus Ihrer Aufgabe.',
      host: 'Dieser Link stammt vom Auftraggeber. Er führt zu',
      address: 'Die vollständige Adresse:',
      seen: 'Wenn Sie ihn öffnen, sieht diese Website Ihre IP-Adresse und Ihren Browser, wie jede Website, die Sie besuchen.',
      notSeen: 'Sie sieht weder diese Seite noch Ihre Aufgabe, außer wenn die Adresse selbst sie nennt.',
      advice:
        'Geben Sie dort kein Passwort und nichts über sich ein. Sie können die Aufgabe stattdessen zurückgeben.',
      open: 'Öffnen',
    },
  },
}
