import { attacks } from '../../../packages/verify/test/approvals/attacks.ts'
import { generatedNote, tableOf, type GeneratedFile } from './markdown.ts'

const path = 'docs/evidence/approval-attacks.md'

const ruleOf = (rule: string): string => (rule.startsWith('equal hash') ? rule : `\`${rule}\``)

const page = (): string => `${generatedNote}

# Attacks on an approval

${attacks.length - 1} attacks, each refused by a rule with a name, and one change that is no attack. The list is
[attacks.ts](../../packages/verify/test/approvals/attacks.ts). A test takes the rule from the list and compares it with the answer, so that this
page, the tests and the code cannot differ: a listed attack without a test fails, and so does a test that compares no rule.

Where a rule has a second word, it is \`details[0].code\` of the answer, and [approvals](../guides/approvals.md#rules) says what each
demands. Those of \`@pohf/verify\` and \`guard\` are the \`reason\` of their results. A passkey that is refused is not told why. \`internal_error\` is the
answer where the stored envelope is not the one that was hashed: nobody is shown it, and the operator's log has it.

[The vectors of RFC 8785](../../packages/verify/test/canonical-json.test.ts) (numbers of appendix B, sections 3.2.2 to 3.2.4) pass.

${tableOf(
  ['Attack', 'Who gains', 'Refused by', 'Test'],
  attacks.map(({ id, attack, gain, rule, file }) => [
    attack,
    gain,
    ruleOf(rule),
    `\`${id}\` in [${file.split('/').at(-1)}](../../${file})`,
  ]),
)}

## What no test here shows

That a person understood what was shown, that malware did not change the screen, and that the person who reads the mail of an address is the one whom the
owner meant: [what an approval does not prove](../guides/approvals.md#what-it-does-not-prove). Anyone who can write to the database can make an
approval that was never given look approved to the service. It cannot make its credentials, which the program that acts verifies.
`

export const approvalAttackFiles = (): GeneratedFile[] => [[path, page()]]
