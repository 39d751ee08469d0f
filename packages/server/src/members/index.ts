export { memberOf, type Member } from './rules.ts'
