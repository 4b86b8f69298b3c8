#!/usr/bin/env python3
"""Writes the interface elements of the files of dbus/ into a header, without comments, so that what introspection says is the
contract itself."""
import re
import sys

output, *inputs = sys.argv[1:]
with open(output, 'w', encoding='utf-8') as header:
    header.write('#pragma once\n\n#include <array>\n#include <string_view>\n#include <utility>\n\n')
    header.write('namespace coffer::api {\n\n')
    header.write('inline constexpr auto kInterfaceTexts = std::to_array<std::pair<std::string_view, std::string_view>>({\n')
    for name in inputs:
        with open(name, encoding='utf-8') as source:
            text = re.sub(r'<!--.*?-->', '', source.read(), flags=re.DOTALL)
        element = re.search(r'[ ]*<interface name="([^"]+)">.*</interface>', text, flags=re.DOTALL)
        body = re.sub(r'\n\s*\n+', '\n', element.group(0))
        header.write(f'    {{"{element.group(1)}", R"xml({body}\n)xml"}},\n')
    header.write('});\n\n}  // namespace coffer::api\n')
