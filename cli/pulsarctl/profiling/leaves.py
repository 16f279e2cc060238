"""A column -> the columns inside it that have plain values.

`value.item` is a field, `tags[]` are the elements of a list, and `properties{}` are the keys of a map.
"""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc


def leaves(name: str, array: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    """A field is NULL where its struct is."""
    kind = array.type
    if pa.types.is_struct(kind):
        for field in kind:
            yield from leaves(f"{name}.{field.name}", pc.struct_field(array, field.name))
    elif pa.types.is_map(kind):
        yield from leaves(f"{name}{{}}", array.drop_null().keys)
    elif pa.types.is_list(kind):
        yield from leaves(f"{name}[]", pc.list_flatten(array))
    else:
        yield name, array
