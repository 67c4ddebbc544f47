// Operations for the mini spec whose bodies are chosen by a discriminator: by `const`, by `mapping`, and by
// the names of the schemas.
import type { MiniProject } from '../generator/mini-project.ts'

const paths = `paths:
  shapes:
    post:
      operationId: createShape
      tags: [edge]
      summary: A circle or a square
      security: []
      requestBody:
        required: true
        content: { application/json: { schema: { $ref: '#/components/schemas/ShapeCreate' } } }
      responses:
        '200':
          description: The shapes.
          content: { application/json: { schema: { $ref: '#/components/schemas/Shapes' } } }
`

const schemas = `  schemas:
    ShapeCreate:
      oneOf:
        - { $ref: '#/components/schemas/CircleCreate' }
        - { $ref: '#/components/schemas/SquareCreate' }
      discriminator: { propertyName: kind }
    CircleCreate:
      type: object
      additionalProperties: false
      required: [kind, radius]
      properties:
        kind: { type: string, const: circle }
        radius: { type: integer, format: int32, minimum: 1, examples: [2] }
    SquareCreate:
      type: object
      additionalProperties: false
      required: [kind, side]
      properties:
        kind: { type: string, enum: [square, box] }
        side: { type: integer, format: int32, maximum: 9, examples: [3] }
        corners: { type: string, maxLength: 5, default: sharp }
    Shapes:
      type: object
      required: [first, second]
      properties:
        first: { $ref: '#/components/schemas/Shape' }
        second: { $ref: '#/components/schemas/Named' }
    Shape:
      oneOf: [{ $ref: '#/components/schemas/Circle' }, { $ref: '#/components/schemas/Square' }]
      discriminator:
        propertyName: kind
        mapping:
          circle: '#/components/schemas/Circle'
          square: '#/components/schemas/Square'
          box: '#/components/schemas/Square'
    Circle:
      type: object
      required: [kind]
      properties:
        kind: { type: string }
        size: { type: integer, format: int32, examples: [2] }
    Square:
      type: object
      required: [kind]
      properties:
        kind: { type: string }
        size: { type: integer, format: int32, examples: [3] }
        corners: { type: string, examples: [sharp] }
    Named:
      oneOf: [{ $ref: '#/components/schemas/Ring' }, { $ref: '#/components/schemas/Cube' }]
      discriminator: { propertyName: kind }
    Ring:
      type: object
      required: [kind]
      properties:
        kind: { type: string }
        width: { type: integer, format: int32, examples: [2] }
    Cube:
      type: object
      required: [kind]
      properties:
        kind: { type: string }
        width: { type: integer, format: int32, examples: [3] }
        depth: { type: integer, format: int32, examples: [3] }
`

export async function addDiscriminated(project: MiniProject): Promise<void> {
  const edge = await project.read('spec/edge.yaml')
  await project.write('spec/edge.yaml', edge.replace('paths:\n', paths).replace('  schemas:\n', schemas))
  const root = await project.read('spec/openapi.yaml')
  await project.write(
    'spec/openapi.yaml',
    root.replace('paths:\n', "paths:\n  /shapes: { $ref: 'edge.yaml#/paths/shapes' }\n"),
  )
}
