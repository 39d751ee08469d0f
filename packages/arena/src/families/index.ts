export { familyNames, type FamilyName, type MeasuredFamily, type RootKind } from './family.ts'
export { measureFamilies, type MeasureOptions } from './measure.ts'
