// The runtime of the client (bb3c1f9564189b67), compiled from packages/client/ of the toolkit. Do not edit.
type Json = any;
/** The Encoding Object of a property. One of `style`, `explode`, `allowReserved` replaces `contentType`. */
export interface Encoding {
    contentType?: string;
    style?: string;
    explode?: boolean;
    allowReserved?: boolean;
}
/** A field of a form. */
export interface Field<File> {
    name: string;
    value: string | File;
    /** The media type of its part, where it is not that of text. */
    type?: string;
}
/** How a property of a form is styled and whether it is exploded; null if it is sent by its content type. */
export declare function styleOf({ style, explode, allowReserved }?: Encoding): {
    style: string;
    explode: boolean;
} | null;
/** The separators of the values of a list in one field, by style. */
export declare const separators: Record<string, string>;
/**
 * The fields of a form in sending order: files come last, objects are JSON, and lists are repeated fields.
 * @param encoding says otherwise for a property, by its style or content type
 */
export declare function fieldsOf<File>(body: Json, encoding: Record<string, Encoding>, isFile: (value: Json) => value is File): Array<Field<File>>;
export {};
