export { familyNames, type FamilyName, type MeasuredFamily } from './family.ts'
export { measureFamilies, type MeasureOptions } from './measure.ts'
